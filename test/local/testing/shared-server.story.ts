import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { ask } from '../../support/postgres-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const run = promisify(execFile);
const ROOT = new URL('../../../', import.meta.url).pathname;
const OPEN = `
  import { openTestDatabase } from '${ROOT}local/testing/testing.ts';
  const database = await openTestDatabase();
  console.log(database.connectionString);
`;
const COUNT = "select count(*) from pg_database where datname like 'millrace_test_%'";
const KEEPER = join(ROOT, 'local/testing/main.ts');

/** Runs a module in a process whose shared server is in this folder, and returns what it prints. */
async function inProcess(folder: string, code: string): Promise<string> {
  const { MILLRACE_TEST_DATABASE_URL: _, ...environment } = process.env;
  const file = join(await temporaryFolder(), 'code.mjs');
  await writeFile(file, code);
  const { stdout } = await run(process.execPath, [file], { env: { ...environment, TMPDIR: folder } });
  return stdout.trim();
}

/** Returns the folder of the shared server, whose process ends with the test. */
async function serverFolder(): Promise<{ folder: string; data: () => Promise<string> }> {
  const folder = await temporaryFolder();
  const data = async () =>
    join(folder, (await readdir(folder)).find((name) => name.includes('testing')) ?? '', '.millrace');
  onTestFinished(async () => {
    for (const pid of await keepers(folder)) process.kill(pid, 'SIGTERM');
    await eventually(async () => expect(await keepers(folder)).toEqual([]));
  });
  return { folder, data };
}

/** Returns the processes that keep a server in this folder. */
async function keepers(folder: string): Promise<number[]> {
  const { stdout } = await run('ps', ['-eo', 'pid=,args=']);
  const lines = stdout.split('\n').filter((line) => line.includes(KEEPER) && line.includes(folder));
  return lines.map((line) => Number.parseInt(line, 10));
}

it('processes share one server, which drops the databases of those that have ended', async () => {
  const { folder } = await serverFolder();

  const urls = await Promise.all(
    [OPEN, OPEN, `${OPEN} await database.close();`].map((code) => inProcess(folder, code)),
  );

  const [first = ''] = urls;
  expect(new Set(urls.map((url) => new URL(url).port)).size).toBe(1);
  expect(new Set(urls).size).toBe(3);
  expect(await keepers(folder)).toHaveLength(1);
  const server = new URL(first);
  server.pathname = '/postgres';
  await eventually(async () => expect(await ask(server.href, COUNT)).toBe('0'));
});

it('starts another server when the process that keeps it was killed', async () => {
  const { folder, data } = await serverFolder();
  const before = await inProcess(folder, OPEN);
  const [keeper = 0] = await keepers(folder);
  process.kill(keeper, 'SIGKILL');
  await eventually(() => expect(ask(before, 'select 1')).rejects.toThrow());

  const after = await inProcess(folder, `${OPEN} await database.close();`);

  expect(new URL(after).password).toBe(new URL(before).password);
  expect(existsSync(join(await data(), 'server.json'))).toBe(true);
});

it('the server stops after a time without a session, and the next test starts it again', async () => {
  const { folder, data } = await serverFolder();
  await inProcess(folder, OPEN);
  for (const pid of await keepers(folder)) process.kill(pid, 'SIGTERM');
  await eventually(async () => expect(await keepers(folder)).toEqual([]));

  await run(process.execPath, [KEEPER, '--folder', await data(), '--from', KEEPER, '--idle', '300']);
  const state = existsSync(join(await data(), 'server.json'));
  const again = await inProcess(folder, `${OPEN} await database.close();`);

  expect(state).toBe(false);
  expect(again).toMatch(/^postgres:/);
});

it('reports why the server cannot start', async () => {
  const { folder, data } = await serverFolder();
  await inProcess(folder, OPEN);
  for (const pid of await keepers(folder)) process.kill(pid, 'SIGTERM');
  await eventually(async () => expect(await keepers(folder)).toEqual([]));
  await writeFile(join(await data(), 'postgres', 'PG_VERSION'), '9.6\n');

  const failed = await inProcess(folder, OPEN).catch((error: Error) => error);

  expect(failed).toMatchObject({
    message: expect.stringContaining('Postgres for tests cannot start: Postgres did not start'),
  });
  expect(await readFile(join(await data(), 'keeper.log'), 'utf8')).toContain('not compatible');
});

it('refuses a folder that another account could have written', async () => {
  const { folder } = await serverFolder();
  const account = process.getuid?.() ?? 0;
  const shared = join(folder, `millrace-testing-${account}-18`);
  await mkdir(shared);
  await run('chmod', ['777', shared]);

  const failed = await inProcess(folder, OPEN).catch((error: Error) => error);

  expect(failed).toMatchObject({
    message: expect.stringContaining(`every user can change ${shared}, so it is not used`),
  });
});
