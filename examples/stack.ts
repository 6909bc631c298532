import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FOLDER } from './install.ts';

const MILLRACE = join(FOLDER, 'node_modules/millrace/cli/millrace.js');
const POLL_MS = 100;

/** `millrace dev` of an example, and its app. */
export interface ExampleStack {
  /** Contains the output if it is captured. */
  readonly log: string;
  /** The exit code of `millrace dev`. */
  readonly ended: Promise<number>;
  stop(): Promise<void>;
}

/**
 * Starts an example in its copy, and resolves when it runs: its app if it has one, `millrace dev`, then its schema. Its
 * output is either that of this process, or captured in a file; captured, it starts from scratch and without the app.
 */
export async function startStack(name: string, output: 'inherit' | 'captured'): Promise<ExampleStack> {
  const cwd = join(FOLDER, name);
  const log = join(cwd, 'dev.log');
  const isCaptured = output === 'captured';
  const file = isCaptured ? openSync(log, 'w') : 'inherit';
  const start = (...args: readonly string[]) => spawn(process.execPath, args, { cwd, stdio: ['ignore', file, file] });
  const dev = start(MILLRACE, 'dev', ...(isCaptured ? ['--fresh'] : []));
  const ended = endOf(dev);
  const parts = [dev];
  const stop = async () => {
    for (const part of parts) part.kill('SIGTERM');
    await ended;
  };
  // A terminal sends Ctrl-C to the children, too; this process ends after them.
  process.on('SIGINT', () => undefined);
  process.once('SIGTERM', stop);
  if (typeof file === 'number') closeSync(file);
  try {
    await untilReady(cwd, dev, log);
    applySchema(cwd);
  } catch (error) {
    await stop();
    throw error;
  }
  if (!isCaptured && existsSync(join(cwd, 'app/main.ts'))) parts.push(start('app/main.ts'));
  return { log, ended: ended.finally(() => parts.at(1)?.kill()), stop };
}

async function endOf(dev: ChildProcess): Promise<number> {
  const [code] = await once(dev, 'exit');
  return code ?? 1;
}

/** Waits until `millrace dev` has written its addresses, which it does when everything runs. */
async function untilReady(cwd: string, dev: ChildProcess, log: string): Promise<void> {
  const file = join(cwd, '.millrace/dev.json');
  while (!existsSync(file) || JSON.parse(readFileSync(file, 'utf8')).pid !== dev.pid) {
    if (dev.exitCode !== null) {
      const text = existsSync(log) ? readFileSync(log, 'utf8') : '';
      throw new Error(`millrace dev ended with exit code ${dev.exitCode}\n${text}`);
    }
    await sleep(POLL_MS);
  }
}

/** Creates the tables of the example itself. */
function applySchema(cwd: string): void {
  const schema = join(cwd, 'schema.sql');
  if (!existsSync(schema)) return;
  const options = { cwd, input: readFileSync(schema), encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync(process.execPath, [MILLRACE, 'sql'], options);
  if (status !== 0) throw new Error(`schema.sql failed: ${stderr}`);
}
