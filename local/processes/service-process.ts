import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ownModule } from '../../core/own-files.ts';
import type { Children } from './children.ts';
import type { Running } from './supervise.ts';

export interface ServiceProcess extends Running {
  readonly pid: number;
  readonly port: number;
}

const STOP_WITHIN_MS = 5_000;

/**
 * Starts a server of this package as a process: `<folder>/main`, which prints `{"event":"listening","port":…}` when it
 * is ready.
 * @throws Error with the process's own message if it exits before that
 */
export async function startService(
  children: Children,
  folder: 'sqs' | 'mailbox',
  args: readonly string[],
): Promise<ServiceProcess> {
  const main = ownModule(`local/${folder}/main`);
  const child = children.spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...args]);
  let errorOutput = '';
  child.process.stderr?.on('data', (chunk: Buffer) => {
    errorOutput = (errorOutput + chunk.toString()).slice(-2_000);
  });
  const port = await Promise.race([listening(child.process.stdout), child.exited.then(() => undefined)]);
  if (port === undefined) throw new Error(errorOutput.trim() || `${folder} exited before it was ready`);
  return {
    pid: child.pid,
    port,
    exited: child.exited,
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
      await child.exited;
      clearTimeout(timer);
    },
  };
}

async function listening(stdout: NodeJS.ReadableStream | null): Promise<number> {
  if (stdout === null) throw new Error('the process has no output to read its port from');
  const lines = createInterface({ input: stdout });
  const [line] = (await once(lines, 'line')) as [string];
  lines.close();
  stdout.resume();
  return (JSON.parse(line) as { port: number }).port;
}
