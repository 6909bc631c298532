import { isTerminal, overwriteLine } from '../../local/screen/writers.ts';

/** A progress line that is overwritten in place, for a person at a terminal. */
export interface Progress {
  show(text: string): void;
  /** Clears the line, before other output. */
  clear(): void;
}

export function openProgress(): Progress {
  let shown = false;
  const clear = () => {
    if (shown) overwriteLine();
    shown = false;
  };
  return {
    show: (text) => {
      if (!isTerminal('stderr')) return;
      overwriteLine(text);
      shown = true;
    },
    clear,
  };
}

/** Returns progress such as `1,200 of 5,000, 24 %`. */
export function howFar(done: number, of: number): string {
  const share = of === 0 ? '' : `, ${Math.floor((100 * done) / of)} %`;
  return `${count(done)} of ${count(of)}${share}`;
}

/** Returns a number with thousands separators. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** Returns a count such as `1 job` or `1,200 jobs`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}
