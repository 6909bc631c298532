import { isTerminal, overwriteLine, type Part, writeLine } from './writers.ts';

/** Shows the steps of a start, so that a slow one does not look like a hang. */
export interface StartProgress {
  /** Shows what is done until `work` ends, and returns its result. */
  during<T>(step: string, work: Promise<T>): Promise<T>;
  /** Prints a line of another source. */
  printLine(...parts: readonly Part[]): void;
  end(): void;
}

const EVERY_MS = 1_000;
/** Interval of the lines in a file or pipe. */
const IN_FILE_MS = 10_000;

/** Prints a line at once, and shows each step with its seconds: in place on a terminal, else as a line every 10 s. */
export function openStartProgress(
  folder: string,
  everyMs = isTerminal('stderr') ? EVERY_MS : IN_FILE_MS,
): StartProgress {
  writeLine('stdout', `Starting Millrace in ${folder}`);
  const begun = performance.now();
  let current: string | undefined;
  const show = () => {
    if (current === undefined) return;
    const line = `  ${current} (${Math.round((performance.now() - begun) / 1000)} s since the start)`;
    if (isTerminal('stderr')) overwriteLine(line);
    else writeLine('stdout', line);
  };
  const timer = setInterval(show, everyMs);
  const clear = () => {
    if (current !== undefined) overwriteLine();
  };
  return {
    during: async (step, work) => {
      current = step;
      if (isTerminal('stderr')) show();
      return work;
    },
    printLine: (...parts) => {
      clear();
      writeLine('stdout', ...parts);
    },
    end: () => {
      clearInterval(timer);
      clear();
      current = undefined;
    },
  };
}
