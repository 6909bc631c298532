import { spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Probe } from './catalog.ts';

const LONGEST_IMPORT_MS = 60_000;
/** Concurrent probes: dozens would slow each other down until all time out. */
const AT_ONCE = 4;
const IMPORTED = 'millrace: imported';
/** Node's code for a top-level await that never ends. */
const EXIT_UNSETTLED = 13;

// The probe ignores an import that throws, because the next import of the file reports the error with its line.
const PROBE = `
const done = () => process.stdout.write('${IMPORTED}', () => process.exit());
await import(process.argv[1]).catch(() => undefined);
setImmediate(done);
`;

/**
 * Returns a function that imports a handler file in a process of its own, and returns why this process must not import
 * it: the import never ends, ends the process, or throws an error that cannot be caught. It probes each version of a
 * file once.
 */
export function openProbe(longestMs = LONGEST_IMPORT_MS): Probe {
  const known = new Map<string, { state: string; verdict: ReturnType<Probe> }>();
  const inTurn = openTurns();
  return async (file) => {
    const { mtimeMs, size } = await stat(file);
    const state = `${mtimeMs}-${size}`;
    const before = known.get(file);
    if (before?.state === state) return before.verdict;
    const verdict = inTurn(() => probe(file, longestMs));
    known.set(file, { state, verdict });
    return verdict;
  };
}

/** Returns a function that runs work with limited concurrency, in the order of the calls. */
function openTurns() {
  const waiting: (() => void)[] = [];
  let free = AT_ONCE;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free === 0) await new Promise<void>((go) => waiting.push(go));
    else free -= 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

function probe(file: string, longestMs: number): ReturnType<Probe> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROBE, pathToFileURL(file).href], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: longestMs,
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
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (out.endsWith(IMPORTED)) return resolve(undefined);
      const line = errors.split(`${basename(file)}:`)[1]?.match(/^\d+/)?.[0];
      const message = child.killed
        ? `did not finish importing within ${longestMs / 1000} s: check for an endless loop`
        : verdictOf(signal ?? `exit code ${code}`, errors);
      resolve(line === undefined ? { message } : { message, line: Number(line) });
    });
  });
}

function verdictOf(end: string, errors: string): string {
  if (end === `exit code ${EXIT_UNSETTLED}`) return 'has a top-level await that never ends';
  const thrown = errors.split('\n').find((line) => /^\w*(Error|Exception)\b.*:/.test(line));
  if (thrown !== undefined) return `throws an error while it is imported that cannot be caught: ${thrown}`;
  return `ends the process (${end}) while it is imported`;
}
