import { Worker } from 'node:worker_threads';
import type { Log } from '../log.ts';

export interface Watchdog {
  /**
   * Watches the jobs that start now, until the returned function is called. When they are overdue and block their
   * thread, `report` is called in the middle of the code that does, and the other thread receives what it returns.
   */
  watch(report: (busySeconds: number) => unknown): () => void;
}

export interface WatchdogOptions {
  /** URL of a module that exports `takeOver`, which the other thread calls with the report. */
  readonly file: string;
  /** Milliseconds from the start of jobs until they are overdue. */
  readonly limitMs: number;
  readonly log: Log;
}

/** The name of the property of `globalThis` with the report, for the debugger of the other thread. */
const REPORT = 'millrace.takeOverReport';

// Positions in the shared memory.
const STARTED = 0;
const BEAT = 1;
const SLOTS = 2;
const BEAT_EVERY_MS = 500;
/** How long the thread must have been blocked, in milliseconds. */
const BLOCKED_MS = 2_000;
/** How long a call of native code, which cannot be stopped, may still last, in milliseconds. */
const LONGEST_NATIVE_MS = 3_000;

// The thread of the watchdog, in plain JavaScript, because a bundle is one file, and most processes never need more of
// it here. It looks at the clock once in `limitMs`. Between invocations Lambda freezes all threads: after a pause that
// was longer than intended, this thread did not run either, and looks again. A thread that is blocked is stopped first
// and the bundle loaded then, because the two would compete for the processor. A thread that dies lets the other go on.
const THREAD = `
const { workerData: { shared, file, limitMs } } = require('node:worker_threads');
const times = new BigInt64Array(shared);
const still = new Int32Array(new SharedArrayBuffer(4));
const pause = (ms) => Atomics.wait(still, 0, 0, ms);
const since = (ms) => Number(process.hrtime.bigint() / 1000000n - ms);
function isBlocked(started) {
  const before = process.hrtime.bigint() / 1000000n;
  pause(${BEAT_EVERY_MS});
  const ran = since(before) < ${2 * BEAT_EVERY_MS};
  return ran && Atomics.load(times, ${STARTED}) === started && since(Atomics.load(times, ${BEAT})) >= ${BLOCKED_MS};
}
async function act() {
  const { Session } = require('node:inspector/promises');
  const session = new Session();
  session.connectToMainThread();
  const paused = new Promise((resolve) => session.once('Debugger.paused', ({ params }) => resolve(params)));
  // While native code runs, no command is answered.
  for (const command of ['Debugger.enable', 'Debugger.pause']) session.post(command).catch(() => undefined);
  const at = await Promise.race([paused, new Promise((resolve) => setTimeout(resolve, ${LONGEST_NATIVE_MS}))]);
  const report = at && (await evaluate(session, at.callFrames[0].callFrameId));
  if (!at || report !== undefined) await import(file).then(({ takeOver }) => takeOver(report));
  // Lets the other thread go on: it was not blocked after all, or native code does not return.
  session.disconnect();
}
async function evaluate(session, callFrameId) {
  const expression = "globalThis[Symbol.for('${REPORT}')]?.()";
  const { result } = await session.post('Debugger.evaluateOnCallFrame', { callFrameId, expression });
  return typeof result.value === 'string' ? JSON.parse(result.value) : undefined;
}
async function watch() {
  for (;;) {
    const started = Atomics.load(times, ${STARTED});
    const left = started === 0n ? limitMs : limitMs - since(started);
    if (left > 0) pause(left);
    else if (isBlocked(started)) await act();
  }
}
watch();
`;

/** Opens the watchdog of a process. Its thread starts at the first `watch` and needs no message after that. */
export function openWatchdog(options: WatchdogOptions): Watchdog {
  let times: BigInt64Array | undefined;
  const shown: Record<symbol, unknown> = globalThis;
  const name = Symbol.for(REPORT);
  return {
    watch(report) {
      times ??= startThread(options);
      const slots = times;
      const started = now();
      const beat = () => void Atomics.store(slots, BEAT, now());
      const beating = setInterval(beat, BEAT_EVERY_MS).unref();
      // The other thread may ask late, when this one moves again or other jobs run.
      shown[name] = () => {
        const busyMs = Number(now() - Atomics.load(slots, BEAT));
        const isBlocked = now() - started >= options.limitMs && busyMs >= BLOCKED_MS;
        return isBlocked ? JSON.stringify(report(Math.round(busyMs / 1000))) : undefined;
      };
      beat();
      Atomics.store(slots, STARTED, started);
      return () => {
        clearInterval(beating);
        Atomics.store(slots, STARTED, 0n);
        shown[name] = undefined;
      };
    },
  };
}

/** Milliseconds on a clock that all threads share. */
function now(): bigint {
  return process.hrtime.bigint() / 1_000_000n;
}

function startThread({ file, limitMs, log }: WatchdogOptions): BigInt64Array {
  const shared = new SharedArrayBuffer(SLOTS * BigInt64Array.BYTES_PER_ELEMENT);
  const thread = new Worker(THREAD, { eval: true, workerData: { shared, file, limitMs } });
  thread.unref();
  // Without it, a blocked batch ends with the timeout of its function and is rescued.
  thread.on('error', (error) => log.warn('watchdog_failed', { error }));
  return new BigInt64Array(shared);
}
