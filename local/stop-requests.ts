export interface StopRequests {
  /** Fired by the first request, with what asked for it as its reason: let running jobs finish and stop. */
  readonly stop: AbortSignal;
  /** Fired by the second: stop at once. */
  readonly halt: AbortSignal;
}

/** npm passes Ctrl-C on to us, although the terminal has sent it to all of us already. */
const SAME_REQUEST_MS = 250;

/**
 * What asks this process to stop: signals, and a reader of its output that went away. A second Ctrl-C, or the same
 * signal again, asks to stop at once; a terminal that closes sends several different ones, which are one request.
 */
export function listenForStop(): StopRequests {
  const stop = new AbortController();
  const halt = new AbortController();
  const seen = new Map<NodeJS.Signals, number>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      const before = seen.get(signal);
      const now = performance.now();
      if (before !== undefined && now - before < SAME_REQUEST_MS) return;
      seen.set(signal, now);
      if (stop.signal.aborted && (before !== undefined || signal === 'SIGINT')) halt.abort();
      stop.abort(signal);
    });
  }
  for (const stream of [process.stdout, process.stderr]) {
    // Without this the command line would end us at once, and running jobs with us.
    stream.removeAllListeners('error');
    stream.on('error', () => stop.abort('nobody reads what it prints'));
  }
  return { stop: stop.signal, halt: halt.signal };
}

/** Resolves when the signal fires, also when it has fired already. */
export function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
