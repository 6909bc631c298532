import { setTimeout as wait } from 'node:timers/promises';

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

const PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** Keeps something running: whenever it dies without being asked to, it is started again and `say` tells so. */
export async function supervise<T extends Running>(
  name: string,
  start: () => Promise<T>,
  say: (line: string) => void,
): Promise<Supervised<T>> {
  let current = await start();
  let stopping = false;
  const watch = async (): Promise<void> => {
    for (;;) {
      await current.exited;
      if (stopping) return;
      say(`${name} died and is started again`);
      const next = await restart();
      if (next === undefined) return;
      current = next;
      if (stopping) return current.stop();
      say(`${name} is back`);
    }
  };
  const restart = async (): Promise<T | undefined> => {
    for (let pause = PAUSE_MS; !stopping; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        return await start();
      } catch (error) {
        say(`${name} does not start: ${error instanceof Error ? error.message : String(error)}`);
        await wait(pause);
      }
    }
    return undefined;
  };
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
