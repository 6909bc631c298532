const WIPE_LINE = '\r\x1b[2K';

/** One line that is written over and over, for a person who is looking. */
export interface Progress {
  show(text: string): void;
  /** Before anything else is said. */
  clear(): void;
}

export function openProgress(): Progress {
  let shown = false;
  const clear = () => {
    if (shown) process.stderr.write(WIPE_LINE);
    shown = false;
  };
  return {
    show: (text) => {
      if (!process.stderr.isTTY) return;
      process.stderr.write(WIPE_LINE + text);
      shown = true;
    },
    clear,
  };
}

/** `1,200 of 5,000, 24 %`. */
export function howFar(done: number, of: number): string {
  const share = of === 0 ? '' : `, ${Math.floor((100 * done) / of)} %`;
  return `${count(done)} of ${count(of)}${share}`;
}

/** A number as a person reads it. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 job`, `1,200 jobs`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}
