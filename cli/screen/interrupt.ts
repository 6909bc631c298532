import { overwriteLine } from '../../local/screen/writers.ts';
import { EXIT } from '../command-failure.ts';
import { printMessage } from './terminal.ts';

/** npm passes Ctrl-C on although the terminal has already sent it to the whole group. */
const SAME_SIGNAL_MS = 250;

let takeOver: (() => void) | undefined;

/** Makes Ctrl-C end a command at once with exit code 130, unless the command handles it itself. */
export function endOnInterrupt(): void {
  let last = Number.NEGATIVE_INFINITY;
  process.on('SIGINT', () => {
    if (performance.now() - last < SAME_SIGNAL_MS) return;
    last = performance.now();
    const putRight = takeOver;
    takeOver = undefined;
    if (putRight === undefined) process.exit(EXIT.interrupted);
    putRight();
    overwriteLine();
    printMessage('stopping; press Ctrl-C again to exit at once');
  });
}

/** Runs `work`; the first Ctrl-C fires its signal, the second one ends the process at once. */
export async function interruptible<T>(work: (interrupted: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  takeOver = () => controller.abort();
  try {
    return await work(controller.signal);
  } finally {
    takeOver = undefined;
  }
}
