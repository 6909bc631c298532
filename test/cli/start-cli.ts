import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { CliOptions, CliResult } from './run-cli.ts';

const LAUNCHER = join(import.meta.dirname, '../../cli/millrace.js');

/** Starts a command in its own process, as a shell does, with pipes instead of a terminal. */
export function startCli(
  args: readonly string[],
  { cwd = tmpdir(), env = {}, input }: CliOptions = {},
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
  if (input !== undefined) child.stdin.end(input);
  const ended = once(child, 'close').then(([code]) => ({ code, stdout, stderr }));
  return { process: child, ended };
}
