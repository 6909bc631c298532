import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Probe } from './catalog.ts';

/** When an import is given up. Neither limit depends on how fast or how busy the machine is. */
export interface ProbeLimits {
  /** Processor time of the whole process. */
  readonly processorMs: number;
  /** Turns of its event loop, at least a tenth of a second apart, in which the import does not finish. */
  readonly turns: number;
}

/** An ordinary import uses half a second. */
const LIMITS: ProbeLimits = { processorMs: 10_000, turns: 300 };
/** A file that exceeds a limit beside others is imported again after they end, with limits this much higher. */
const AGAIN = 2;
/** Ends an import that blocks its process without using it. It decides nothing that the limits can decide. */
const HANGS_MS = 600_000;
/** Concurrent probes: dozens would use all memory of a small machine. */
const AT_ONCE = 4;
// Each of these is followed by a random word of the probe: the file can print anything before and after it.
const IMPORTED = 'imported ';
const BUSY = 'busy ';
const WAITS = 'waits ';
/** Turns of the loop in which the output of a process that has exited is read. */
const TURNS_TO_READ = 3;
/** Node's code for a top-level await that never ends. */
const EXIT_UNSETTLED = 13;

// Runs in its own thread, because a loop at import stops all timers of the main thread. Ends with the caller.
const WATCH = `const { workerData } = process.getBuiltinModule('node:worker_threads');
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  const { user, system } = process.cpuUsage();
  if (user + system < workerData.processorMs * 1000) return;
  process.getBuiltinModule('node:fs').writeSync(2, '${BUSY}' + workerData.word);
  process.kill(process.pid, 'SIGKILL');
}, 100)`;

// The probe ignores an import that throws, because the next import of the file reports the error with its line.
const PROBE = `
const { Worker } = process.getBuiltinModule('node:worker_threads');
const [file, word, processorMs, most] = process.argv.splice(1);
new Worker(${JSON.stringify(WATCH)}, { eval: true, workerData: { processorMs, word } }).unref();
let turns = Number(most);
setInterval(() => {
  if (turns-- > 0) return;
  process.getBuiltinModule('node:fs').writeSync(2, '${WAITS}' + word);
  process.kill(process.pid, 'SIGKILL');
}, 100).unref();
const done = () => process.stdout.write('${IMPORTED}' + word, () => process.exit());
await import(file).catch(() => undefined);
setImmediate(done);
`;

type Verdict = Awaited<ReturnType<Probe>>;

/**
 * Returns a function that imports a handler file in a separate process, and returns why this process must not import
 * it: the import never ends, ends the process, or throws an error that cannot be caught. It probes each version of a
 * file once, and ends the probe of a version that another one has replaced.
 */
export function openProbe(limits = LIMITS): Probe {
  const known = new Map<string, { state: string; verdict: Promise<Verdict>; replaced: AbortController }>();
  const turns = openTurns();
  return async (file) => {
    const { mtimeMs, size } = await stat(file);
    const state = `${mtimeMs}-${size}`;
    const before = known.get(file);
    if (before?.state === state) return before.verdict;
    before?.replaced.abort();
    const replaced = new AbortController();
    const verdict = probeTwice(file, limits, { turns, replaced: replaced.signal });
    known.set(file, { state, verdict, replaced });
    return verdict;
  };
}

interface Circumstances {
  readonly turns: Turns;
  /** Fired when the file was saved again. */
  readonly replaced: AbortSignal;
}

async function probeTwice(file: string, limits: ProbeLimits, { turns, replaced }: Circumstances): Promise<Verdict> {
  const first = await turns.beside(() => probe(file, limits, replaced));
  if (!first?.isOverLimit) return first?.verdict;
  const higher = { processorMs: AGAIN * limits.processorMs, turns: AGAIN * limits.turns };
  const second = await turns.afterOthers(() => probe(file, higher, replaced));
  return second?.verdict;
}

interface Turns {
  /** Runs work beside at most three others, in the order of the calls. */
  beside<T>(work: () => Promise<T>): Promise<T>;
  /** Runs work that begins when no other work runs. Work that is requested later does not wait for it. */
  afterOthers<T>(work: () => Promise<T>): Promise<T>;
}

function openTurns(): Turns {
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

interface Refusal {
  readonly verdict: Verdict;
  /** Whether another import of the same file could end otherwise. */
  readonly isOverLimit: boolean;
}

const REPLACED: Refusal = { verdict: { message: 'was saved again while it was imported' }, isOverLimit: false };

function probe(file: string, limits: ProbeLimits, replaced: AbortSignal): Promise<Refusal | undefined> {
  if (replaced.aborted) return Promise.resolve(REPLACED);
  const word = randomUUID();
  const values = [pathToFileURL(file).href, word, `${limits.processorMs}`, `${limits.turns}`];
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROBE, ...values], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: HANGS_MS,
    killSignal: 'SIGKILL',
  });
  let out = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    replaced.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
    child.on('error', reject);
    child.on('exit', async (code, signal) => {
      // Processes that the file started can keep the pipes open. What this one wrote is in them, and is read within a
      // turn of the loop.
      for (let turn = 0; turn < TURNS_TO_READ; turn++) await nextTurn();
      for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
      if (out.includes(IMPORTED + word)) return resolve(undefined);
      if (replaced.aborted) return resolve(REPLACED);
      const message = overLimit({ errors, word, hangs: child.killed }, limits);
      if (message !== undefined) return resolve({ verdict: { message }, isOverLimit: true });
      resolve({ verdict: verdictOf(file, signal ?? `exit code ${code}`, errors), isOverLimit: false });
    });
  });
}

interface Printed {
  readonly errors: string;
  readonly word: string;
  readonly hangs: boolean;
}

function overLimit({ errors, word, hangs }: Printed, limits: ProbeLimits): string | undefined {
  const advice = 'move such work into run';
  if (errors.includes(BUSY + word))
    return `its import used ${limits.processorMs / 1000} s of processor time: ${advice}`;
  if (errors.includes(WAITS + word)) return `its import waits for something that does not happen: ${advice}`;
  return hangs ? `its import blocks its process: ${advice}` : undefined;
}

function verdictOf(file: string, end: string, errors: string): Verdict {
  const line = errors.split(`${basename(file)}:`)[1]?.match(/^\d+/)?.[0];
  return { message: describeEnd(end, errors), ...(line !== undefined && { line: Number(line) }) };
}

function describeEnd(end: string, errors: string): string {
  if (end === `exit code ${EXIT_UNSETTLED}`) return 'has a top-level await that never ends';
  const thrown = errors.split('\n').find((line) => /^\w*(Error|Exception)\b.*:/.test(line));
  if (thrown !== undefined) return `throws an error while it is imported that cannot be caught: ${thrown}`;
  return `ends the process (${end}) while it is imported`;
}
