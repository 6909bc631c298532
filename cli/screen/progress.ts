import { isTerminal, overwriteLine, writeLine } from '../../local/screen/writers.ts';

/** A progress line: overwritten in place on a terminal. */
export interface Progress {
  show(text: string): void;
  /** Clears the line, before other output. */
  clear(): void;
}

/** Interval of the lines in a file or pipe. */
const EVERY_MS = 10_000;

/**
 * @param inFile whether standard error gets a line every 10 s if it is not a terminal: for work that takes minutes.
 */
export function openProgress({ inFile = false, everyMs = EVERY_MS } = {}): Progress {
  let shown = false;
  let written = performance.now();
  const clear = () => {
    if (shown) overwriteLine();
    shown = false;
  };
  return {
    show: (text) => {
      if (!isTerminal('stderr')) {
        if (!inFile || performance.now() - written < everyMs) return;
        written = performance.now();
        writeLine('stderr', text);
        return;
      }
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
