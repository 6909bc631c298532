import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { ownModule } from '../own-files.ts';
import type { Probe } from './catalog.ts';
import { addSource, beginSources, forgetPackages, isCurrent, type Sources, type Told } from './probe-sources.ts';
import { openTurns, type Turns } from './probe-turns.ts';
import { reportSlow, type SlowImport } from './slow-import.ts';

/** When an import is given up. Neither limit depends on how fast or how busy the machine is. */
export interface ProbeLimits {
  /** Processor time of the whole process. */
  readonly processorMs: number;
  /** Turns of its event loop, at least a tenth of a second apart, in which the import does not finish. */
  readonly turns: number;
}

/** An ordinary import uses half a second. */
export const LIMITS: ProbeLimits = { processorMs: 10_000, turns: 300 };
/** A file that exceeds a limit beside others is imported again after they end, with limits this much higher. */
const AGAIN = 2;
/** Ends an import that blocks its process without using it. It decides nothing that the limits can decide. */
const HANGS_MS = 600_000;
/** Node's code for a top-level await that never ends. */
const EXIT_UNSETTLED = 13;

type Verdict = Awaited<ReturnType<Probe>>;

/** One reading of a handler file, which is repeated when one of its sources was saved. */
interface Reading {
  readonly sources: Sources;
  readonly verdict: Promise<Verdict>;
  readonly replaced: AbortController;
}

/**
 * Returns a function that imports a handler file in a separate process, and returns what it defines, or why it defines
 * nothing: also that its import never ends, ends the process, or throws an error that cannot be caught. It imports each
 * version of a file and of the files that it imports once, and ends the import of a version that another one has
 * replaced.
 */
export function openProbe(limits = LIMITS, slow?: SlowImport): Probe {
  const known = new Map<string, Reading>();
  const turns = openTurns();
  return async (file, siblings, module = file) => {
    const before = known.get(file);
    if (before !== undefined && isCurrent(before.sources, siblings)) return before.verdict;
    before?.replaced.abort();
    const replaced = new AbortController();
    const sources = beginSources(module, siblings);
    const asked = { file, module, siblings, sources, replaced: replaced.signal };
    const verdict = probeTwice(asked, limits, { turns, slow });
    known.set(file, { sources, verdict, replaced });
    return verdict;
  };
}

/** A file to import. */
export interface ProbedFile {
  /** Absolute path. */
  readonly file: string;
  /** What is imported in its place. */
  readonly module: string;
}

interface Asked extends ProbedFile {
  readonly siblings: readonly string[];
  /** Completed while the file is imported. */
  readonly sources: Sources;
  /** Fired when a source was saved again. */
  readonly replaced: AbortSignal;
}

async function probeTwice(
  asked: Asked,
  limits: ProbeLimits,
  { turns, slow }: { readonly turns: Turns; readonly slow: SlowImport | undefined },
): Promise<Verdict> {
  const first = await turns.beside(() => reportSlow(asked.file, probe(asked, limits), slow));
  if (!first.isOverLimit) return first.verdict;
  const higher = { processorMs: AGAIN * limits.processorMs, turns: AGAIN * limits.turns };
  return (await turns.afterOthers(() => probe(asked, higher))).verdict;
}

interface Ending {
  readonly verdict: Verdict;
  /** Whether another import of the same file could end otherwise. */
  readonly isOverLimit: boolean;
}

function probe({ file, module, siblings, sources, replaced }: Asked, limits: ProbeLimits): Promise<Ending> {
  const ending = (message: string, isOverLimit = false): Ending => ({ verdict: { file, message }, isOverLimit });
  const again = ending('was saved again while it was imported');
  if (replaced.aborted) return Promise.resolve(again);
  const child = startProbe([{ file, module }], siblings, limits);
  const report = child.stdio[3] as unknown as Readable;
  let uncaught = '';
  let limit: 'busy' | 'waits' | undefined;
  return new Promise((resolve, reject) => {
    createInterface(report).on('line', (line) => {
      const told = JSON.parse(line) as Told;
      if ('verdict' in told) {
        if ('definition' in told.verdict) forgetPackages(sources);
        resolve({ verdict: told.verdict, isOverLimit: false });
      } else if ('limit' in told) limit = told.limit;
      else if ('uncaught' in told) uncaught = told.uncaught;
      else addSource(sources, told);
    });
    replaced.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
    child.on('error', reject);
    // Processes that the file started do not inherit the pipe of the report, so it ends with this process.
    child.on('close', (code, signal) => {
      if (replaced.aborted) return resolve(again);
      const message = overLimit(limit, limits, child.killed);
      if (message !== undefined) return resolve(ending(message, true));
      resolve({ verdict: endOf(file, signal ?? `exit code ${code}`, uncaught), isOverLimit: false });
    });
  });
}

/** Starts a process that imports these files one after another, and writes `Told` to its file descriptor 3. */
export function startProbe(files: readonly ProbedFile[], siblings: readonly string[], limits: ProbeLimits) {
  const script = ownModule('core/catalog/probe-process');
  const values = [JSON.stringify(files), JSON.stringify(siblings), `${limits.processorMs}`, `${limits.turns}`];
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, ...values], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    timeout: HANGS_MS,
    killSignal: 'SIGKILL',
  });
}

function overLimit(limit: 'busy' | 'waits' | undefined, limits: ProbeLimits, hangs: boolean): string | undefined {
  const advice = 'move such work into run';
  if (limit === 'busy') return `its import used ${limits.processorMs / 1000} s of processor time: ${advice}`;
  if (limit === 'waits') return `its import waits for something that does not happen: ${advice}`;
  return hangs ? `its import blocks its process: ${advice}` : undefined;
}

function endOf(file: string, end: string, uncaught: string): Verdict {
  const line = uncaught.split(`${basename(file)}:`)[1]?.match(/^\d+/)?.[0];
  return { file, message: describeEnd(end, uncaught), ...(line !== undefined && { line: Number(line) }) };
}

function describeEnd(end: string, uncaught: string): string {
  if (end === `exit code ${EXIT_UNSETTLED}`) return 'has a top-level await that never ends';
  const thrown = uncaught.split('\n').find((line) => /^\w*(Error|Exception)\b.*:/.test(line));
  if (thrown !== undefined) return `throws an error while it is imported that cannot be caught: ${thrown}`;
  return `ends the process (${end}) while it is imported`;
}
