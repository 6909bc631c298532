import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { execute, makeForeignProject, npm, type Packed, packAll } from './packed.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** Programs of `npm ci --prefix test/packages`. */
const TOOLS = join(import.meta.dirname, 'node_modules/.bin');
const MOST_BYTES = 5_000_000;

/** What an application writes: a handler definition, and a job in its own transaction. */
const ORDER = `
  const handler = defineHandler({
    jobType: 'send_invoice',
    payload: { '~standard': { version: 1, vendor: 'app', validate: (value) => ({ value }) } },
    run: async () => undefined,
  });
  const client = { query: async (text, values) => { calls.push({ text, values }); return { rows: [{ id: '7' }] }; } };
`;
const CALLER = `
  ${ORDER}
  enqueue(client, handler, { order: 'A' }).then(() => process.stdout.write(JSON.stringify(calls)));
`;
const ESM = `import { defineHandler, enqueue } from 'millrace';\nconst calls = [];\n${CALLER}`;
const CJS = `const { defineHandler, enqueue } = require('millrace');\nconst calls = [];\n${CALLER}`;
const MIGRATES = `
import { migrate } from 'millrace';
const log = { info() {}, warn() {}, error() {}, child: () => log };
const { applied } = await migrate({ connectionString: process.argv[2], log });
process.stdout.write(applied.join(' '));
`;
const TYPED = `
import { DeadLetter, defineHandler, enqueue, retry } from 'millrace';
import type { CatchUp, EnqueueClient, Jitter, Overlap, RetryPreview, ScheduleOptions } from 'millrace';
import { assertEnqueued, openTestDatabase, runHandler } from 'millrace/testing';

const payload = {
  '~standard': {
    version: 1 as const,
    vendor: 'app',
    validate: (value: unknown) => ({ value: value as { id: number } }),
  },
};
const jitter: Jitter = 'full';
const policy = retry.exponential({ base: '1s', max: '5m', jitter });
export const delays: RetryPreview[] = retry.preview(policy, 3);
const rules: { catchUp: CatchUp; overlap: Overlap } = { catchUp: 'all(3)', overlap: 'skip' };
const nightly: ScheduleOptions = { cron: '0 3 * * *', zone: 'Europe/Berlin', payload: { id: 1 }, ...rules };
export const handler = defineHandler({
  jobType: 'send_invoice',
  payload,
  retry: policy,
  schedules: { nightly },
  run: async ({ payload: { id } }) => {
    if (id < 0) throw new DeadLetter('no such invoice');
    return { id };
  },
});
export const place = (client: EnqueueClient) => enqueue(client, handler, { id: 1 });
export async function tried(): Promise<unknown[]> {
  const database = await openTestDatabase({ handlers: [handler], now: new Date(0) });
  const job = await assertEnqueued(database, handler, {}, { uniqueKey: 'one' });
  const [drained] = await database.drain({ until: '1d' });
  return [job.payload, drained?.result, await runHandler(handler, { id: 1 })];
}
`;
const TSCONFIG = { compilerOptions: { module: 'nodenext', target: 'es2024', strict: true, noEmit: true, types: [] } };

let packed: Packed;
let project: string;
let db: TestDatabase;

beforeAll(async () => {
  [packed, db] = await Promise.all([packAll(['millrace']), createDatabase()]);
  project = join(packed.folder, 'app');
  await makeForeignProject(project, {
    'package.json': JSON.stringify({ name: 'app', private: true }),
    'caller.mjs': ESM,
    'caller.cjs': CJS,
    'migrates.mjs': MIGRATES,
    'typed.mts': TYPED,
    'tsconfig.json': JSON.stringify(TSCONFIG),
  });
  // Offline, so the package has no dependency that npm would have to download.
  const installed = await npm(project, 'install', '--offline', '--no-audit', '--no-fund', packed.files.millrace ?? '');
  expect(installed.stderr).toBe('');
});

afterAll(async () => {
  await packed?.remove();
  await db?.drop();
});

it('the package installs at most 5 MB, with everything that it depends on', async () => {
  const folder = join(project, 'node_modules');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));

  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES);
});

it.each(['caller.mjs', 'caller.cjs'])('%s enqueues a job that the database accepts', async (file) => {
  const { stdout, stderr } = await execute(project, process.execPath, [file]);
  const [call] = JSON.parse(stdout) as [{ text: string; values: unknown[] }];

  const { rows } = await db.pool.query(call.text, call.values);
  const { rows: jobs } = await db.pool.query('select job_type, payload from millrace.jobs where id = $1', [rows[0].id]);

  expect(stderr).toBe('');
  expect(jobs).toEqual([{ job_type: 'send_invoice', payload: { order: 'A' } }]);
});

it('the types compile in a strict project that checks declarations and has no other types', async () => {
  const { stdout } = await execute(project, join(ROOT, 'node_modules/.bin/tsc'), ['-p', '.']);

  expect(stdout).toBe('');
});

it('publint finds nothing to improve', async () => {
  const folder = join(packed.folder, 'dist', 'millrace');
  const { code, stdout } = await execute(folder, join(TOOLS, 'publint'), ['--strict', '--pack', 'false']);

  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('All good!') });
});

it('every way to import resolves to the declarations, as an ES module', async () => {
  const attw = join(TOOLS, 'attw');
  // By default, the format depends on the terminal and on the variable CI.
  const options = ['--profile', 'esm-only', '--format', 'ascii'];
  const { code, stdout } = await execute(packed.folder, attw, [packed.files.millrace ?? '', ...options]);

  expect(stdout).not.toMatch(/^node16 \(from ESM\): ❌/m);
  // "moduleResolution": "node" of TypeScript 5, which does not read the field exports.
  expect(stdout.match(/^node10: .*$/gm)).toEqual([
    ...['node10: (ignored) 🟢 ', 'node10: (ignored) 🟢 ', 'node10: (ignored) 🟢 ', 'node10: (ignored) 🟢 (JSON)'],
  ]);
  expect(code).toBe(0);
});

it('the output of an uncaught error consists of its message and a few lines', async () => {
  const wrong = `import { defineHandler } from 'millrace';\ndefineHandler({ jobType: 'a', timout: 1 });`;
  await writeFile(join(project, 'wrong.mjs'), wrong);

  const { stderr } = await execute(project, process.execPath, ['wrong.mjs']);

  expect(stderr).toContain('SettingError: a: unknown option timout;');
  expect(stderr.length).toBeLessThan(2_000);
});

it('an application migrates a database, which the commands then read', async () => {
  const empty = await createDatabase({ migrated: false });
  const millrace = join(project, 'node_modules/.bin/millrace');
  const migrated = await execute(project, process.execPath, ['migrates.mjs', empty.url]);
  const enqueued = await execute(project, millrace, ['enqueue', 'hello', '--database-url', empty.url]);
  const listed = await execute(project, millrace, ['jobs', 'list', '--json', '--database-url', empty.url]);
  const status = await execute(project, millrace, ['migrate', 'status', '--json', '--database-url', empty.url]);
  await empty.drop();

  expect(migrated).toMatchObject({ code: 0, stdout: expect.stringContaining('0006_enqueue') });
  expect(enqueued).toMatchObject({ code: 0, stdout: '1\n' });
  expect(JSON.parse(listed.stdout)).toMatchObject({ items: [{ id: '1', job_type: 'hello' }] });
  expect(JSON.parse(status.stdout)[0]).toMatchObject({ name: '0001_foundation', state: 'applied' });
});

it('without millrace-dev, openTestDatabase names the package to install', async () => {
  await writeFile(
    join(project, 'opens.mjs'),
    `import { openTestDatabase } from 'millrace/testing';\nawait openTestDatabase();`,
  );
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));

  const { code, stderr } = await execute(project, process.execPath, ['opens.mjs'], { MILLRACE_TEST_DATABASE_URL: '' });

  expect(code).toBe(1);
  expect(stderr).toContain(
    'openTestDatabase requires the package millrace-dev, which contains Postgres: run npm install --save-dev ' +
      `millrace-dev@${version}, or set MILLRACE_TEST_DATABASE_URL to a Postgres server`,
  );
});

it.each(['dev', 'init', 'mail'])('without millrace-dev, %s names the package to install', async (command) => {
  const { code, stderr } = await execute(project, join(project, 'node_modules/.bin/millrace'), [command]);
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));

  expect(code).toBe(2);
  expect(stderr).toBe(
    `millrace ${command} is part of the package millrace-dev: run npm install --save-dev millrace-dev@${version}\n`,
  );
});
