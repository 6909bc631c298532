import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import type { Cloud } from './ministack.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const WITHIN_MS = 280_000;

export interface CdkEnded {
  readonly code: number;
  /** Standard output and error as they came. */
  readonly output: string;
}

/** Runs `npx cdk` in the repository, with the account and the endpoint of the cloud. */
export function cdk(cloud: Cloud, ...args: readonly string[]): Promise<CdkEnded> {
  const options = { cwd: ROOT, env: cloud.environment, timeout: WITHIN_MS, maxBuffer: 50_000_000 };
  return new Promise((done) => {
    let output = '';
    const child = execFile('npx', ['cdk', '--no-notices', ...args], options, () =>
      done({ code: child.exitCode ?? 1, output }),
    );
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: string) => (output += text));
  });
}
