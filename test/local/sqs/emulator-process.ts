import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { createWorld, type World } from '../../contract/sqs-world.ts';

const MAIN = join(import.meta.dirname, '../../../local/sqs/main.ts');
const children: ChildProcess[] = [];
const worlds: World[] = [];

export interface Running {
  readonly child: ChildProcess;
  readonly world: World;
}

/** Ends the processes and clients of a test. */
export function endEmulators(): void {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const world of worlds.splice(0)) world.sqs.destroy();
}

export function spawnMain(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  return child;
}

export async function startEmulator(...args: string[]): Promise<Running> {
  const child = spawnMain(args);
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  const { event, endpoint } = JSON.parse(line) as { event: string; endpoint: string };
  expect(event).toBe('listening');
  const world = createWorld(endpoint);
  worlds.push(world);
  return { child, world };
}

export async function killEmulator({ child }: Running): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}
