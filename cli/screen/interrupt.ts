import { EXIT } from '../command-failure.ts';

/** npm passes Ctrl-C on although the terminal has already sent it to the whole group. */
const SAME_SIGNAL_MS = 250;

let takeOver: (() => void) | undefined;

/** Ctrl-C ends a command at once, with the number that scripts know it by, unless it has something to put right. */
export function endOnInterrupt(): void {
  let last = Number.NEGATIVE_INFINITY;
  process.on('SIGINT', () => {
    if (performance.now() - last < SAME_SIGNAL_MS) return;
    last = performance.now();
    const putRight = takeOver;
    takeOver = undefined;
    if (putRight === undefined) process.exit(EXIT.interrupted);
    putRight();
  });
}

/** Runs work that the first Ctrl-C asks to come to an end, by its signal; the second one ends it at once. */
export async function interruptible<T>(work: (interrupted: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  takeOver = () => controller.abort();
  try {
    return await work(controller.signal);
  } finally {
    takeOver = undefined;
  }
}
