import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { openChildren } from '../../local/children.ts';
import { freePort } from '../../local/ports.ts';
import { findBinaries } from '../../local/postgres/binaries.ts';
import { chooseOwner } from '../../local/postgres/owner.ts';
import { type PostgresServer, startPostgres } from '../../local/postgres.ts';
import { createClient } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { ask, chosenBinaries, withDatabase } from '../support/postgres-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const execute = promisify(execFile);
// A killed process loses nothing that it handed to the system; only a power cut would.
const settings = { fsync: 'off' };
const children = openChildren();
const pristine = join(await mkdtemp(join(tmpdir(), 'millrace-test-')), 'data');

beforeAll(async () => {
  await chmod(dirname(pristine), 0o755);
  const server = await startPostgres({ children, folder: pristine, ...chosenBinaries() });
  await server.stop();
});

afterAll(async () => {
  await children.close();
  await rm(dirname(pristine), { recursive: true });
});

async function start(folder: string, port?: number): Promise<PostgresServer> {
  const server = await startPostgres({ children, folder, settings, ...(port && { port }), ...chosenBinaries() });
  onTestFinished(() => server.stop());
  return server;
}

/** A copy of data that was made once, since copying is ten times faster than making. */
async function newFolder(): Promise<string> {
  const folder = join(await temporaryFolder(), 'data');
  await execute('cp', ['-a', pristine, folder]);
  return folder;
}

/** A server that nobody looks after, as a hard kill of its parent leaves it. */
async function startOrphan(folder: string, port: number): Promise<number> {
  const { bin, env } = await findBinaries(chosenBinaries().binaries, `${folder}.libraries`);
  const owner = await chooseOwner(folder);
  const settings = ['-p', String(port), '-c', 'unix_socket_directories=.', '-c', 'listen_addresses=127.0.0.1'];
  const orphan = spawn(join(bin, 'postgres'), ['-D', folder, ...settings], {
    ...(owner && { uid: owner.uid, gid: owner.gid }),
    env: { LC_ALL: 'C', ...env },
    stdio: 'ignore',
    detached: true,
  });
  onTestFinished(() => void orphan.kill('SIGKILL'));
  return orphan.pid!;
}

it('keeps the data over a stop and a start', async () => {
  const folder = await newFolder();
  const first = await start(folder);
  await ask(first.url, 'create table kept as select 42 as answer');
  await first.stop();

  const second = await start(folder);

  expect(await ask(second.url, 'select answer from kept')).toBe('42');
  expect(second.url).toContain(`:${second.port}/millrace`);
});

it('asks for the password, on loopback too', async () => {
  const server = await start(await newFolder());
  const url = new URL(server.url);
  url.password = 'guess';

  await expect(ask(url.href, 'select 1')).rejects.toThrow(/password authentication failed/);
});

it('sorts by bytes and stores UTF-8, on any machine', async () => {
  const server = await start(await newFolder());

  expect(await ask(server.url, "select string_agg(x, '' order by x) from unnest('{b,é,A,a,B,😀}'::text[]) x")).toBe(
    'ABabé😀',
  );
  expect(await ask(server.url, 'show timezone')).toBe('UTC');
});

it('starts however deep its folder lies', async () => {
  const parent = join(await temporaryFolder(), ...Array.from({ length: 20 }, () => 'folder'));
  await mkdir(parent, { recursive: true });
  await execute('cp', ['-a', pristine, join(parent, 'data')]);

  const server = await start(join(parent, 'data'));

  expect(server.folder.length).toBeGreaterThan(107);
  expect(await ask(server.url, 'select 1')).toBe('1');
});

it('makes the database that is asked for', async () => {
  const server = await startPostgres({
    children,
    folder: await newFolder(),
    database: 'Bench "1"',
    ...chosenBinaries(),
  });
  onTestFinished(() => server.stop());

  expect(await ask(server.url, 'select current_database()')).toBe('Bench "1"');
});

it('moves to the next free port', async () => {
  const rival = createServer();
  const port = await freePort();
  rival.listen(port, '127.0.0.1');
  await once(rival, 'listening');
  onTestFinished(() => void rival.close());

  const server = await start(await newFolder(), port);

  expect(server.port).toBeGreaterThan(port);
});

it('comes back at the same port with every committed row after kill -9', async () => {
  const first = await start(await newFolder());
  await ask(first.url, 'create table kept as select generate_series(1, 1000) as id');
  process.kill(first.pid, 'SIGKILL');
  const exit = await first.exited;
  const began = performance.now();

  const second = await start(first.folder, first.port);

  expect(exit.signal).toBe('SIGKILL');
  expect(second.port).toBe(first.port);
  expect(await ask(second.url, 'select count(*) from kept')).toBe('1000');
  expect(performance.now() - began).toBeLessThan(5_000);
});

it('ends a backend that is too busy to notice that its server was killed', async () => {
  const first = await start(await newFolder());
  const client = await createClient(first.url);
  const busy = client.query('select count(*) from generate_series(1, 1e11::bigint)').catch((error: Error) => error);
  const active = "select count(*) from pg_stat_activity where state = 'active' and query like '%generate_series%1e11%'";
  await eventually(async () => expect(await ask(first.url, `${active} and pid <> pg_backend_pid()`)).toBe('1'));
  process.kill(first.pid, 'SIGKILL');
  await first.exited;

  const second = await start(first.folder, first.port);

  expect(await ask(second.url, 'select 1')).toBe('1');
  expect(await busy).toBeInstanceOf(Error);
});

it('stops the orphan of an earlier run and takes its place', async () => {
  const first = await start(await newFolder());
  await ask(first.url, 'create table kept as select 42 as answer');
  await first.stop();
  const orphan = await startOrphan(first.folder, first.port);
  await eventually(async () => expect(await ask(first.url, 'select answer from kept')).toBe('42'));

  const second = await start(first.folder, first.port);

  expect(second.pid).not.toBe(orphan);
  expect(second.port).toBe(first.port);
  expect(await ask(second.url, 'select answer from kept')).toBe('42');
});

it('is not stopped by a pid file whose number belongs to another program by now', async () => {
  const first = await start(await newFolder());
  await first.stop();
  const owner = await chooseOwner(first.folder);
  const stranger = spawn('sleep', ['60'], { ...(owner && { uid: owner.uid, gid: owner.gid }) });
  onTestFinished(() => void stranger.kill('SIGKILL'));
  await writeFile(join(first.folder, 'postmaster.pid'), `${stranger.pid}\n${first.folder}\n1\n5432\n.\n127.0.0.1\n`);

  const second = await start(first.folder);

  expect(await ask(second.url, 'select 1')).toBe('1');
  expect(stranger.exitCode).toBeNull();
});

it('takes a zombie for dead', async () => {
  const first = await start(await newFolder());
  await first.stop();
  const owner = await chooseOwner(first.folder);
  // The shell becomes a program that never asks how its child ended.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], {
    ...(owner && { uid: owner.uid, gid: owner.gid }),
  });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [line] = await once(parent.stdout, 'data');
  const zombie = String(line).trim();
  await eventually(async () => expect((await execute('ps', ['-o', 'state=', '-p', zombie])).stdout).toMatch(/^Z/));
  await writeFile(join(first.folder, 'postmaster.pid'), `${zombie}\n${first.folder}\n1\n${first.port}\n.\n127.0.0.1\n`);
  await writeFile(
    join(first.folder, `.s.PGSQL.${first.port}.lock`),
    `${zombie}\n${first.folder}\n1\n${first.port}\n.\n`,
  );
  const began = performance.now();

  const second = await start(first.folder, first.port);

  expect(await ask(second.url, 'select 1')).toBe('1');
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(() => process.kill(Number(zombie), 0)).not.toThrow();
});

it('says why the server refuses, in its words', async () => {
  const first = await start(await newFolder());
  await first.stop();

  const failing = startPostgres({
    children,
    folder: first.folder,
    settings: { shared_buffers: '1' },
    ...chosenBinaries(),
  });

  await expect(failing).rejects.toThrow(/Postgres did not start: .*"shared_buffers".*data\.log/s);
});

it('leaves a folder alone that holds something else', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'thesis.txt'), 'irreplaceable');

  await expect(startPostgres({ children, folder, ...chosenBinaries() })).rejects.toThrow(/no Postgres data/);

  expect(await readFile(join(folder, 'thesis.txt'), 'utf8')).toBe('irreplaceable');
});

it('lets nobody else read the data, the password or the log', async () => {
  const { folder, url } = await start(await newFolder());
  const modes = await Promise.all(
    [folder, join(folder, 'millrace.password'), `${folder}.log`].map((path) => stat(path)),
  );

  expect(modes.map(({ mode }) => (mode & 0o077).toString(8))).toEqual(['0', '0', '0']);
  expect(await ask(withDatabase(url, 'postgres'), 'select current_user')).toBe('postgres');
});
