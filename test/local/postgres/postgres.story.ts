import { once } from 'node:events';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { withDatabase } from '../../../core/testing/template.ts';
import { startPostgres } from '../../../local/postgres/postgres.ts';
import { freePort } from '../../../local/processes/ports.ts';
import { openOwnServers } from '../../support/own-servers.ts';
import { ask, chosenBinaries } from '../../support/postgres-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const { children, newFolder, start } = openOwnServers();

it('Postgres keeps its data over a stop and a start', async () => {
  const folder = await newFolder();
  const first = await start(folder);
  await ask(first.url, 'create table kept as select 42 as answer');
  await first.stop();

  const second = await start(folder);

  expect(await ask(second.url, 'select answer from kept')).toBe('42');
  expect(second.url).toContain(`:${second.port}/millrace`);
});

it('Postgres requires the password, on loopback too', async () => {
  const server = await start(await newFolder());
  const url = new URL(server.url);
  url.password = 'guess';

  await expect(ask(url.href, 'select 1')).rejects.toThrow(/password authentication failed/);
});

it('Postgres sorts by bytes and stores UTF-8, on any machine', async () => {
  const server = await start(await newFolder());

  expect(await ask(server.url, "select string_agg(x, '' order by x) from unnest('{b,é,A,a,B,😀}'::text[]) x")).toBe(
    'ABabé😀',
  );
  expect(await ask(server.url, 'show timezone')).toBe('UTC');
});

it('Postgres starts in a folder whose path is longer than a socket path may be', async () => {
  const parent = join(await temporaryFolder(), ...Array.from({ length: 20 }, () => 'folder'));
  await mkdir(parent, { recursive: true });

  const server = await start(await newFolder(parent));

  expect(server.folder.length).toBeGreaterThan(107);
  expect(await ask(server.url, 'select 1')).toBe('1');
});

it('startPostgres creates the requested database', async () => {
  const server = await startPostgres({
    children,
    folder: await newFolder(),
    database: 'Bench "1"',
    ...chosenBinaries(),
  });
  onTestFinished(() => server.stop());

  expect(await ask(server.url, 'select current_database()')).toBe('Bench "1"');
});

it('Postgres uses the next free port when its port is in use', async () => {
  const rival = createServer();
  const port = await freePort();
  rival.listen(port, '127.0.0.1');
  await once(rival, 'listening');
  onTestFinished(() => void rival.close());

  const server = await start(await newFolder(), port);

  expect(server.port).toBeGreaterThan(port);
});

it('startPostgres throws with the message of a server that does not start', async () => {
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

it('startPostgres leaves a folder with other files unchanged', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'thesis.txt'), 'irreplaceable');

  await expect(startPostgres({ children, folder, ...chosenBinaries() })).rejects.toThrow(/no Postgres data/);

  expect(await readFile(join(folder, 'thesis.txt'), 'utf8')).toBe('irreplaceable');
});

it('other users can read neither the data nor the password nor the log', async () => {
  const { folder, url } = await start(await newFolder());
  const modes = await Promise.all(
    [folder, join(folder, 'millrace.password'), `${folder}.log`].map((path) => stat(path)),
  );

  expect(modes.map(({ mode }) => (mode & 0o077).toString(8))).toEqual(['0', '0', '0']);
  expect(await ask(withDatabase(url, 'postgres'), 'select current_user')).toBe('postgres');
});
