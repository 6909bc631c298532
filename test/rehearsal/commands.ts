import { type ChildProcess, execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { Cloud } from './ministack.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** Ten times what the slowest command, a deployment of 100 handlers, requires. */
const WITHIN_MS = 900_000;

/** The status that CDK prints, which a narrow column truncates. */
export const ROLLED_BACK = /UPDATE_ROLLBACK_COMPLET/;

export interface Result {
  readonly code: number;
  /** Standard output and error, interleaved. */
  readonly output: string;
}

const LIMITS = { timeout: WITHIN_MS, maxBuffer: 50_000_000 };

/** Runs `npx cdk` in the repository, with the account and the endpoint of the cloud. */
export function cdk(cloud: Cloud, ...args: readonly string[]): Promise<Result> {
  const options = { cwd: ROOT, env: cloud.environment, ...LIMITS };
  return waitFor(execFile('npx', ['cdk', '--no-notices', ...args], options));
}

/** Runs `npx millrace` in a clone, with the account that deployed it. */
export function millrace(cloud: Cloud, cwd: string, databaseUrl: string, ...args: readonly string[]): Promise<Result> {
  const options = { cwd, env: { ...cloud.environment, DATABASE_URL: databaseUrl }, ...LIMITS };
  return waitFor(execFile(process.execPath, [join(ROOT, 'cli/millrace.js'), ...args], options));
}

function waitFor(child: ChildProcess): Promise<Result> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: string) => (output += text));
  return new Promise((done) => child.once('close', (code) => done({ code: code ?? 1, output })));
}
