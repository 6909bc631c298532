import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { Cloud } from './ministack.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const WITHIN_MS = 280_000;

/** What CDK prints of a stack, in a column that is too narrow. */
export const ROLLED_BACK = /UPDATE_ROLLBACK_COMPLET/;

export interface Ended {
  readonly code: number;
  /** Standard output and error as they came. */
  readonly output: string;
}

/** Runs `npx cdk` in the repository, with the account and the endpoint of the cloud. */
export function cdk(cloud: Cloud, ...args: readonly string[]): Promise<Ended> {
  return run('npx', ['cdk', '--no-notices', ...args], { cwd: ROOT, env: cloud.environment });
}

/** Runs `npx millrace` in a clone, as whoever has deployed it. */
export function millrace(cloud: Cloud, cwd: string, databaseUrl: string, ...args: readonly string[]): Promise<Ended> {
  const env = { ...cloud.environment, DATABASE_URL: databaseUrl };
  return run(process.execPath, [join(ROOT, 'cli/millrace.js'), ...args], { cwd, env });
}

interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

function run(command: string, args: readonly string[], surroundings: Surroundings): Promise<Ended> {
  const options = { ...surroundings, timeout: WITHIN_MS, maxBuffer: 50_000_000 };
  return new Promise((done) => {
    let output = '';
    const child = execFile(command, args, options, () => done({ code: child.exitCode ?? 1, output }));
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: string) => (output += text));
  });
}
