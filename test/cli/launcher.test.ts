import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MAIN = `
if (process.argv[2] === 'wait') {
  for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => console.log(name));
  process.on('SIGTERM', () => process.exit(0));
  setInterval(() => {}, 1000);
}
// Signals can arrive from here on.
console.log(JSON.stringify({ pid: process.pid, args: process.argv.slice(2) }));
if (process.argv[2] === 'echo') process.stdin.pipe(process.stdout);
if (process.argv[2] === 'exit') process.exit(Number(process.argv[3]));
`;

/** A stand-in for what bundles main: see bundle.story.ts. */
const BUNDLE = "export const keepBundle = async () => import.meta.resolve('./main.ts');";

/** Fakes the platform and version for the launcher, but not for the process that it starts, unless BESIDE is set. */
const DISGUISE = `
const { MACHINE, VERSION, BESIDE } = process.env;
if (MACHINE && !process.channel) Object.defineProperty(process, 'platform', { value: MACHINE });
if (VERSION && (BESIDE || !process.channel)) Object.defineProperty(process, 'versions', { value: { node: VERSION } });
`;

interface Project {
  readonly folder: string;
  run(args: string[], env?: Record<string, string>): Run;
}

interface Run {
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<{ code: number | null; signal: string | null; output: string }>;
}

/** Creates a project with the launcher, a main that prints its arguments, and optionally a Node in node_modules. */
async function project({ withNode }: { withNode: boolean }): Promise<Project> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'cli'));
  await copyFile('cli/millrace.js', join(folder, 'cli/millrace.js'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'cli/main.ts'), MAIN);
  await writeFile(join(folder, 'cli/bundle.ts'), BUNDLE);
  await writeFile(join(folder, 'disguise.mjs'), DISGUISE);
  if (withNode) {
    const beside = join(folder, 'node_modules', `node-${process.platform}-${process.arch}`);
    await mkdir(join(beside, 'bin'), { recursive: true });
    await writeFile(join(beside, 'package.json'), '{}');
    await symlink(process.execPath, join(beside, 'bin/node'));
  }
  return { folder, run: (args, env = {}) => run(folder, args, env) };
}

function run(folder: string, args: string[], env: Record<string, string>): Run {
  const node = spawn(process.execPath, ['--import', './disguise.mjs', 'cli/millrace.js', ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
  });
  onTestFinished(() => void node.kill('SIGKILL'));
  let output = '';
  for (const stream of [node.stdout, node.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const ended = once(node, 'close').then(([code, signal]) => ({ code, signal, output }));
  return { process: node, output: () => output, ended };
}

const OLD = { VERSION: '20.20.2' };

it('the launcher starts no further process when the Node beside it is too old, too', async () => {
  const { run } = await project({ withNode: true });

  const { code, output } = await run(['exit', '7'], { ...OLD, BESIDE: 'old' }).ended;

  expect(code).toBe(2);
  expect(output).toMatch(/^Millrace requires Node 24 and this is /);
});

it('the launcher passes the arguments and the exit code', async () => {
  const { run } = await project({ withNode: false });

  const { code, output } = await run(['exit', '7']).ended;

  expect(code).toBe(7);
  expect(JSON.parse(output).args).toEqual(['exit', '7']);
});

it('the launcher runs main under the Node beside it when its own is too old', async () => {
  const { run } = await project({ withNode: true });
  const old = run(['echo', 'a b', '--c'], OLD);

  old.process.stdin?.end('through and through');
  const { code, output } = await old.ended;

  expect(code).toBe(0);
  expect(output).toContain('"args":["echo","a b","--c"]');
  expect(output).toContain('through and through');
});

it('the launcher passes on the exit code of the Node beside it', async () => {
  const { run } = await project({ withNode: true });

  expect((await run(['exit', '7'], OLD).ended).code).toBe(7);
});

it('the launcher passes on Ctrl-C once when a terminal and npm both send it', async () => {
  const { run } = await project({ withNode: true });
  const old = run(['wait'], OLD);
  await eventually(() => expect(old.output()).toContain('"args"'));

  old.process.kill('SIGINT');
  await eventually(() => expect(old.output()).toContain('SIGINT'));
  old.process.kill('SIGINT');
  old.process.kill('SIGTERM');
  const { output } = await old.ended;

  expect(output.match(/SIG\w+/g)).toEqual(['SIGINT', 'SIGTERM']);
});

it('main ends when the launcher is killed', async () => {
  const { run } = await project({ withNode: true });
  const old = run(['wait'], OLD);
  await eventually(() => expect(old.output()).toContain('"args"'));
  const { pid } = JSON.parse(old.output());

  old.process.kill('SIGKILL');

  await eventually(() => expect(old.output()).toContain('SIGTERM'));
  expect(pid).not.toBe(old.process.pid);
});

it('the launcher ends with the signal that ended main', async () => {
  const { run } = await project({ withNode: true });
  const old = run(['wait'], OLD);
  await eventually(() => expect(old.output()).toContain('"args"'));

  process.kill(JSON.parse(old.output()).pid, 'SIGKILL');

  expect((await old.ended).signal).toBe('SIGKILL');
});

it('the launcher reports which Node it requires when it finds none', async () => {
  const { run } = await project({ withNode: false });

  const { code, output } = await run(['url'], OLD).ended;

  expect(code).toBe(2);
  expect(output).toMatch(/^Millrace requires Node 24 and this is v[\d.]+: run npm ci .*\n$/);
});

it('the launcher prints npm ci as the remedy for a missing package', async () => {
  const { folder, run } = await project({ withNode: false });
  await writeFile(join(folder, 'cli/main.ts'), "import 'not-there';");

  const { code, output } = await run(['url']).ended;

  expect(code).toBe(2);
  expect(output).toMatch(/^The packages that Millrace requires are not installed: run npm ci \(.*not-there.*\)\.\n$/);
});

it.each<[string, Record<string, string>, string]>([
  ['without its main file', { 'package.json': '{"main": "gone.js"}' }, 'half'],
  ['with the beginning of its package.json', { 'package.json': '{"mai', 'index.js': '' }, 'package.json'],
])('the launcher prints what to do about a package %s, as while npm installs it', async (_what, files, detail) => {
  const { folder, run } = await project({ withNode: false });
  await mkdir(join(folder, 'node_modules/half'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'node_modules/half', name), text);
  await writeFile(join(folder, 'cli/main.ts'), "import 'half';");

  const { code, output } = await run(['url']).ended;

  expect(code).toBe(2);
  expect(output).toMatch(
    /^The packages that Millrace requires are not installed completely: wait until npm has ended, or run npm ci \(.*\)\.\n$/,
  );
  expect(output).toContain(detail);
});

it('the launcher passes on other errors in main', async () => {
  const { folder, run } = await project({ withNode: false });
  await writeFile(join(folder, 'cli/main.ts'), "throw new Error('broken in main');");

  const { code, output } = await run(['url']).ended;

  expect(code).toBe(1);
  expect(output).toContain('broken in main');
});

it('the launcher refers to WSL on Windows', async () => {
  const { run } = await project({ withNode: true });

  const { code, output } = await run(['url'], { MACHINE: 'win32' }).ended;

  expect(code).toBe(2);
  expect(output).toMatch(/^Millrace does not run on Windows natively: use WSL .*\n$/);
});
