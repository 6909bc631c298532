/** Concurrent probes: dozens would use all memory of a small machine. */
const AT_ONCE = 4;

export interface Turns {
  /** Runs work beside at most three others, in the order of the calls. */
  beside<T>(work: () => Promise<T>): Promise<T>;
  /** Runs work that begins when no other work runs. Work that is requested later does not wait for it. */
  afterOthers<T>(work: () => Promise<T>): Promise<T>;
}

export function openTurns(): Turns {
  const waiting: (() => void)[] = [];
  const last: (() => void)[] = [];
  let free = AT_ONCE;
  const startNext = () => {
    while (free > 0) {
      const go = waiting.shift() ?? (free === AT_ONCE ? last.shift() : undefined);
      if (go === undefined) return;
      free -= 1;
      go();
    }
  };
  const take = async <T>(queue: (() => void)[], work: () => Promise<T>): Promise<T> => {
    await new Promise<void>((go) => {
      queue.push(go);
      startNext();
    });
    try {
      return await work();
    } finally {
      free += 1;
      startNext();
    }
  };
  return { beside: (work) => take(waiting, work), afterOthers: (work) => take(last, work) };
}
