export interface StopRequests {
  /** Fired by the first request, with its source as the reason: stop after running jobs have finished. */
  readonly stop: AbortSignal;
  /** Fired by the second request: stop at once. */
  readonly halt: AbortSignal;
}

/** After Ctrl-C the signal arrives twice: from the terminal, which sends it to the process group, and from npm. */
const SAME_REQUEST_MS = 250;
const OUTPUT_CLOSED = 'its output was closed';

/**
 * Listens for requests to stop this process: signals, and a closed output. A second Ctrl-C, or the same signal again,
 * requests to stop at once. A terminal that closes sends several different signals, which count as one request.
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
    // The command's own listener would exit at once and end running jobs.
    stream.removeAllListeners('error');
    stream.on('error', () => stop.abort(OUTPUT_CLOSED));
  }
  return { stop: stop.signal, halt: halt.signal };
}

/** Returns whether the terminal is gone, in which a second Ctrl-C could end the jobs that run. */
export function isUnattended(stop: AbortSignal): boolean {
  return stop.reason === 'SIGHUP' || stop.reason === OUTPUT_CLOSED;
}

/** Resolves when the signal fires, or immediately if it has fired. */
export function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
