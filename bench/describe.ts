import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { SETTINGS } from './measures/server.ts';
import type { BenchOptions } from './options.ts';
import { RESULT_FORMAT, type Result } from './result.ts';

const GB = 1024 ** 3;

/** Returns a result without answers: when, where and how it was measured. */
export function describe({ jobs, runs, pinned }: BenchOptions, args: readonly string[]): Result {
  const settings = Object.entries(SETTINGS).map(([name, value]) => `${name}=${value}`);
  return {
    ...{ format: RESULT_FORMAT, date: new Date().toISOString().slice(0, 10), commit: readCommit() },
    command: ['npm run bench --', ...withoutJson(args)].join(' '),
    machine: {
      processors: `${cpus().length} x ${cpus()[0]?.model.trim()}`,
      memoryGb: Math.round(totalmem() / GB),
      system: `${type()} ${release()}`,
      node: process.version.slice(1),
      postgres: 'of the local stack',
      settings: settings.join(', '),
      load: [currentLoad()],
    },
    ...{ jobs, runs, pinned },
  };
}

export function currentLoad(): number {
  return Math.round((loadavg()[0] ?? 0) * 10) / 10;
}

/** Leaves out the path of the result, which says nothing about how it was measured. */
function withoutJson(args: readonly string[]): string[] {
  return args.filter((arg, index) => !/^--json(=|$)/.test(arg) && args[index - 1] !== '--json');
}

function readCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no') !== '';
    return `${git('rev-parse', '--short', 'HEAD')}${changed ? ' with changes' : ''}`;
  } catch {
    return 'unknown';
  }
}
