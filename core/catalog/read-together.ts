import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { HandlerEntry } from './import-handler.ts';
import { LIMITS, type ProbedFile, type ProbeLimits, startProbe } from './probe.ts';
import type { Told } from './probe-sources.ts';
import { openTurns } from './probe-turns.ts';

/** A process uses a third of a second before it imports a file, and 10 ms for each further file without packages. */
const FILES_OF_A_PROCESS = 25;

/**
 * Reads handler files in few processes, each of which imports many files one after another. Returns the handlers by
 * their files. A file that is not in the result is read again by a probe of its own, which states why it has no
 * handler: one file can end the process, use up its limits, or throw after its import, and the files after it are not
 * read then.
 * @param siblings names of all handler files of their folder
 */
export async function readTogether(
  files: readonly ProbedFile[],
  siblings: readonly string[],
  limits = LIMITS,
): Promise<ReadonlyMap<string, HandlerEntry>> {
  const turns = openTurns();
  const groups = Array.from({ length: Math.ceil(files.length / FILES_OF_A_PROCESS) }, (_, n) =>
    files.slice(n * FILES_OF_A_PROCESS, (n + 1) * FILES_OF_A_PROCESS),
  );
  const read = await Promise.all(groups.map((group) => turns.beside(() => readGroup(group, siblings, limits))));
  return new Map(read.flat().map((handler) => [handler.file, handler]));
}

function readGroup(
  files: readonly ProbedFile[],
  siblings: readonly string[],
  limits: ProbeLimits,
): Promise<HandlerEntry[]> {
  const child = startProbe(files, siblings, limits);
  const found: HandlerEntry[] = [];
  createInterface(child.stdio[3] as unknown as Readable).on('line', (line) => {
    const told = JSON.parse(line) as Told;
    if ('verdict' in told && 'definition' in told.verdict) found.push(told.verdict);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => resolve(found));
  });
}
