import { Worker } from 'node:worker_threads';
import type { Log } from '../log.ts';

export interface Watchdog {
  /**
   * Watches the jobs that start now, until the returned function is called. If the jobs are overdue and block their
   * thread, `report` is called in the middle of the blocking code, and the other thread receives its result.
   */
  watch(report: (busySeconds: number) => unknown): () => void;
}

export interface WatchdogOptions {
  /** URL of a module that exports `takeOver`, which the other thread calls with the report. */
  readonly file: string;
  /** Time from the start of jobs until they are overdue, in milliseconds. */
  readonly limitMs: number;
  readonly log: Log;
}

/** Name of the property of `globalThis` that contains the report function, and of the code that calls it. */
const REPORT = 'millrace.takeOverReport';

/** The stack frames of the report, above those of the blocking code. */
export const DEBUGGER_FRAMES = /\n(?:.*\n)*?\s+at millrace\.takeOverReport:.*/;

// Positions in the shared memory.
const STARTED = 0;
const BEAT = 1;
const SLOTS = 2;
const BEAT_EVERY_MS = 500;
/** Time for which the thread must have been blocked, in milliseconds. */
const BLOCKED_MS = 2_000;
/** Longest wait for a call of native code, which cannot be stopped, to return, in milliseconds. */
const LONGEST_NATIVE_MS = 3_000;

// The code of the watchdog's thread. It is text, because a bundle is one file, and plain JavaScript, because most
// processes never load the bundle in this thread. The thread checks the clock once per `limitMs`. Between invocations,
// Lambda freezes all threads: if a pause was longer than intended, this thread was frozen too, and checks again. The
// thread pauses the blocked thread before it loads the bundle, because the two would compete for the processor. It
// evaluates the report outside the paused frames: their globals can be those of node:vm, or hidden by their variables.
// If this thread fails, the blocked thread continues.
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
  // The debugger does not answer while native code runs.
  for (const command of ['Debugger.enable', 'Debugger.pause']) session.post(command).catch(() => undefined);
  const at = await Promise.race([paused, new Promise((resolve) => setTimeout(resolve, ${LONGEST_NATIVE_MS}))]);
  const report = at && (await evaluate(session));
  if (!at || report !== undefined) await import(file).then(({ takeOver }) => takeOver(report));
  // The other thread continues: it was not blocked after all, or native code does not return.
  session.disconnect();
}
async function evaluate(session) {
  const expression = "globalThis[Symbol.for('${REPORT}')]?.() //# sourceURL=${REPORT}";
  const { result } = await session.post('Runtime.evaluate', { expression });
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

/** Opens the watchdog of a process. The first `watch` starts its thread; later calls send it no message. */
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
      // The other thread may call this late, when this thread is no longer blocked or runs other jobs.
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

/** Returns the time in milliseconds on a clock that all threads share. */
function now(): bigint {
  return process.hrtime.bigint() / 1_000_000n;
}

function startThread({ file, limitMs, log }: WatchdogOptions): BigInt64Array {
  const shared = new SharedArrayBuffer(SLOTS * BigInt64Array.BYTES_PER_ELEMENT);
  const thread = new Worker(THREAD, { eval: true, workerData: { shared, file, limitMs } });
  thread.unref();
  // Without the watchdog, a blocked batch ends at the function's timeout and is rescued.
  thread.on('error', (error) => log.warn('watchdog_failed', { error }));
  return new BigInt64Array(shared);
}
