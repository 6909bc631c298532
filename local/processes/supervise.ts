import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '../../core/failure.ts';

/** A process that may die. */
export interface Running {
  readonly exited: Promise<unknown>;
  stop(): Promise<void>;
}

export interface Supervised<T extends Running> {
  /** The process that runs now. */
  current(): T;
  stop(): Promise<void>;
}

export interface SuperviseOptions {
  /** Name of the process in the printed lines. */
  readonly name: string;
  readonly printLine: (line: string) => void;
  /** Fired when every child process is being killed: none is restarted from then on. */
  readonly halt: AbortSignal;
  /** Fired when the stack stops. Running jobs need the process, so one more restart is attempted, and no second one. */
  readonly stop: AbortSignal;
}

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 5_000;

/** Keeps a process running: when it exits without a call of `stop`, `restart` is called until it succeeds. */
export function supervise<T extends Running>(
  first: T,
  restart: () => Promise<T>,
  { name, printLine, halt, stop }: SuperviseOptions,
): Supervised<T> {
  let current = first;
  let isLast = false;
  const stopping = new AbortController();
  const ended = AbortSignal.any([stopping.signal, halt]);

  async function restartUntilUp(): Promise<T | undefined> {
    for (let delay = FIRST_DELAY_MS; !ended.aborted; delay = Math.min(delay * 2, LONGEST_DELAY_MS)) {
      try {
        return await restart();
      } catch (error) {
        if (ended.aborted) break;
        printLine(`${name} does not start: ${messageOf(error)}`);
        if (stop.aborted) break;
        await wait(delay, undefined, { signal: AbortSignal.any([ended, stop]) }).catch(() => undefined);
      }
    }
    return undefined;
  }

  async function watch(): Promise<void> {
    for (;;) {
      await current.exited;
      if (ended.aborted || isLast) return;
      isLast = stop.aborted;
      printLine(`${name} died; restarting it`);
      const next = await restartUntilUp();
      if (next === undefined) return;
      current = next;
      if (stopping.signal.aborted) return current.stop();
      printLine(`${name} is running again`);
    }
  }

  const watching = watch();
  return {
    current: () => current,
    stop: async () => {
      stopping.abort();
      await current.stop();
      await watching;
    },
  };
}
