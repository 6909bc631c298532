import { type ChildProcess, execFile } from 'node:child_process';
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

const LIMITS = { timeout: WITHIN_MS, maxBuffer: 50_000_000 };

/** Runs `npx cdk` in the repository, with the account and the endpoint of the cloud. */
export function cdk(cloud: Cloud, ...args: readonly string[]): Promise<Ended> {
  const options = { cwd: ROOT, env: cloud.environment, ...LIMITS };
  return ending(execFile('npx', ['cdk', '--no-notices', ...args], options));
}

/** Runs `npx millrace` in a clone, as whoever has deployed it. */
export function millrace(cloud: Cloud, cwd: string, databaseUrl: string, ...args: readonly string[]): Promise<Ended> {
  const options = { cwd, env: { ...cloud.environment, DATABASE_URL: databaseUrl }, ...LIMITS };
  return ending(execFile(process.execPath, [join(ROOT, 'cli/millrace.js'), ...args], options));
}

function ending(child: ChildProcess): Promise<Ended> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: string) => (output += text));
  return new Promise((done) => child.once('close', (code) => done({ code: code ?? 1, output })));
}
