import { existsSync, globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, relative, resolve } from 'node:path';
import type { TestProjectInlineConfiguration } from 'vitest/config';

const ROOT = resolve(import.meta.dirname, '../..');
const SERVER = 'test/support/postgres-server.ts';
/** A file that starts a process imports one of these. */
const STARTERS = ['node:child_process', 'local/processes/children.ts'];
const IMPORTED = /(?:from|import)\s*\(?\s*'([^']+)'/g;

/** Other suites, each with its own configuration; the last one runs in .ci/sqs-servers.sh. */
const OTHER_SUITES = ['test/{adoption,clients,faults,rehearsal,moto,synth}/**', 'test/contract/sqs-minute.test.ts'];

const PROJECTS = ['pure', 'database', 'process'];
/** Projects whose tests can depend on the release of Postgres. */
export const DATABASE_PROJECTS = ['database', 'process'];

export const WORKERS = Math.max(2, availableParallelism());

/**
 * Sorts test files by what they and their fixtures import: `process` files start processes, and each runs in its own
 * process; `database` files use the server of the run; `pure` files use neither. The latter two share loaded modules.
 */
export function projectsOf(pattern: string, names: readonly string[] = PROJECTS): TestProjectInlineConfiguration[] {
  const files = Map.groupBy(globSync(pattern, { cwd: ROOT, exclude: OTHER_SUITES }), projectOf);
  return names.map((name) => ({
    extends: true,
    test: { name, include: files.get(name) ?? [], isolate: name === 'process' },
  }));
}

function projectOf(file: string): string {
  const reached = reach(file, new Set());
  if (STARTERS.some((path) => reached.has(path))) return 'process';
  return reached.has(SERVER) ? 'database' : 'pure';
}

/** Follows imports inside test/, except those of the server, whose processes belong to the run. */
function reach(file: string, seen: Set<string>): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  if (file.startsWith('test/') && file !== SERVER) for (const target of importsOf(file)) reach(target, seen);
  return seen;
}

const read = new Map<string, readonly string[]>();

function importsOf(file: string): readonly string[] {
  const known = read.get(file);
  if (known) return known;
  const path = resolve(ROOT, file);
  // The tests of the rules contain imports of missing files.
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const targets = [...text.matchAll(IMPORTED)].map(([, target = '']) => target);
  const found = targets.map((one) => (one.startsWith('.') ? relative(ROOT, resolve(dirname(path), one)) : one));
  read.set(file, found);
  return found;
}
