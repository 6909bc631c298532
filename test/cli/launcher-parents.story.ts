import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MAIN = `
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => console.log(name));
setInterval(() => {}, 1000);
console.log(process.pid);
`;
/** A stand-in for what bundles main. */
const BUNDLE = "export const keepBundle = async () => import.meta.resolve('./main.ts');";
/** A package manager: it runs a program, and does not pass on that it ends. */
const MANAGER = `
import { spawn } from 'node:child_process';
const [program, ...args] = process.argv.slice(2);
spawn(program, args, { stdio: 'inherit', env: { ...process.env, npm_command: 'exec' } });
`;

interface Caller {
  readonly process: ChildProcess;
  readonly output: () => string;
}

async function project(): Promise<string> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'cli'));
  await copyFile('cli/millrace.js', join(folder, 'cli/millrace.js'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'cli/main.ts'), MAIN);
  await writeFile(join(folder, 'cli/bundle.ts'), BUNDLE);
  await writeFile(join(folder, 'manager.mjs'), MANAGER);
  return folder;
}

/** Runs a program that starts the launcher, directly or through others, and waits until the launcher runs. */
async function call(folder: string, program: string, args: readonly string[]): Promise<Caller> {
  const caller = spawn(program, [...args], { cwd: folder, detached: true });
  // Its whole process group, because the launcher survives some of these callers.
  onTestFinished(() => void process.kill(-Number(caller.pid), 'SIGKILL'));
  let output = '';
  caller.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  caller.stderr.setEncoding('utf8').on('data', (text) => (output += text));
  await eventually(() => expect(output).toMatch(/^\d+\n/));
  return { process: caller, output: () => output };
}

async function kill({ process: caller }: Caller): Promise<void> {
  const ended = once(caller, 'exit');
  caller.kill('SIGKILL');
  await ended;
}

const LAUNCHER = [process.execPath, 'cli/millrace.js'];
/** Two commands, because a shell runs its last one without a process of its own. */
const quoted = (words: readonly string[]) => `${words.map((word) => `'${word}'`).join(' ')}; true`;
const MANAGED = [process.execPath, 'manager.mjs'];

it('a command that pnpm runs survives the end of the script that called pnpm', async () => {
  const folder = await project();
  const script = await call(folder, 'sh', ['-c', quoted([...MANAGED, ...LAUNCHER])]);
  await kill(script);
  // The launcher checks its parents every 500 ms, so it has checked them when the launcher of a killed pnpm has.
  const killed = await call(folder, process.execPath, [...MANAGED.slice(1), ...LAUNCHER]);
  await kill(killed);
  await eventually(() => expect(killed.output()).toContain('SIGTERM'));

  process.kill(Number.parseInt(script.output(), 10), 'SIGINT');

  await eventually(() => expect(script.output()).toContain('SIGINT'));
  expect(script.output()).not.toContain('SIGTERM');
});

it('a command that npm runs through a shell ends when npm is killed', async () => {
  const npm = await call(await project(), process.execPath, [...MANAGED.slice(1), 'sh', '-c', quoted(LAUNCHER)]);

  await kill(npm);

  await eventually(() => expect(npm.output()).toContain('SIGTERM'));
});
