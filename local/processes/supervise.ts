import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '../../core/failure.ts';

/** Something that runs and may die. */
export interface Running {
  readonly exited: Promise<unknown>;
  stop(): Promise<void>;
}

export interface Supervised<T extends Running> {
  /** The one that runs now. */
  current(): T;
  stop(): Promise<void>;
}

export interface SuperviseOptions {
  /** What people call it. */
  readonly name: string;
  readonly say: (line: string) => void;
  /** Fired when everything is being killed: what dies then stays dead. */
  readonly halt: AbortSignal;
}

const PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** Keeps something running: whenever it dies without being asked to, `restart` is called until it succeeds. */
export function supervise<T extends Running>(
  first: T,
  restart: () => Promise<T>,
  { name, say, halt }: SuperviseOptions,
): Supervised<T> {
  let current = first;
  let stopping = false;
  const over = () => stopping || halt.aborted;

  async function bringBack(): Promise<T | undefined> {
    for (let pause = PAUSE_MS; !over(); pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        return await restart();
      } catch (error) {
        if (over()) break;
        say(`${name} does not start: ${messageOf(error)}`);
        await wait(pause, undefined, { signal: halt }).catch(() => undefined);
      }
    }
    return undefined;
  }

  async function watch(): Promise<void> {
    for (;;) {
      await current.exited;
      if (over()) return;
      say(`${name} died and is started again`);
      const next = await bringBack();
      if (next === undefined) return;
      current = next;
      if (stopping) return current.stop();
      say(`${name} is back`);
    }
  }

  const watching = watch();
  return {
    current: () => current,
    stop: async () => {
      stopping = true;
      await current.stop();
      await watching;
    },
  };
}
