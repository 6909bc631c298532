import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export interface CliOptions {
  /** Default: a folder without a stack and without handlers. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
}

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const LAUNCHER = join(import.meta.dirname, '../../cli/millrace.js');

/** Starts a command as a shell does, with pipes instead of a terminal. */
export function startCli(
  args: readonly string[],
  { cwd = tmpdir(), env = {} }: CliOptions = {},
): {
  readonly process: ChildProcessWithoutNullStreams;
  readonly ended: Promise<CliResult>;
} {
  const child = spawn(process.execPath, [LAUNCHER, ...args], { cwd, env: { PATH: process.env.PATH, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  // A command that fails early does not read its input.
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'close').then(([code]) => ({ code, stdout, stderr }));
  return { process: child, ended };
}

export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const { process: child, ended } = startCli(args, options);
  child.stdin.end(options.input ?? '');
  return ended;
}
