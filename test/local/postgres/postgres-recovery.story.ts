import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { startOnSamePort } from '../../../local/processes/ports.ts';
import { createClient } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { openOwnServers, runAs, startOrphan } from '../../support/own-servers.ts';
import { ask } from '../../support/postgres-server.ts';

const execute = promisify(execFile);
const { newFolder, start } = openOwnServers();

it('Postgres restarts on the same port with every committed row after kill -9', async () => {
  const first = await start(await newFolder());
  await ask(first.url, 'create table kept as select generate_series(1, 1000) as id');
  process.kill(first.pid, 'SIGKILL');
  const exit = await first.exited;

  const second = await start(first.folder, first.port);

  expect(exit.signal).toBe('SIGKILL');
  expect(second.port).toBe(first.port);
  expect(await ask(second.url, 'select count(*) from kept')).toBe('1000');
});

it('Postgres does not restart on another port while a program uses its own', async () => {
  const { url, folder, port, pid, exited } = await start(await newFolder());
  process.kill(pid, 'SIGKILL');
  await exited;
  const again = () => startOnSamePort((preferred) => start(folder, preferred), port);
  const other = createServer();
  await eventually(() => once(other.listen(port, '127.0.0.1'), 'listening'));

  const outcome = again();

  await expect(outcome).rejects.toThrow(`another program uses its port ${port}: stop that program`);
  other.close();
  await once(other, 'close');
  expect((await again()).port).toBe(port);
  expect(await ask(url, 'select 1')).toBe('1');
});

it('a start ends a backend of the killed server that is too busy to notice', async () => {
  const first = await start(await newFolder());
  const client = await createClient(first.url);
  const busy = client.query('select count(*) from generate_series(1, 1e11::bigint)').catch((error: Error) => error);
  const active = `select count(*) from pg_stat_activity
    where datname = current_database() and state = 'active' and query like '%generate_series%1e11%'`;
  await eventually(async () => expect(await ask(first.url, `${active} and pid <> pg_backend_pid()`)).toBe('1'));
  process.kill(first.pid, 'SIGKILL');
  await first.exited;

  const second = await start(first.folder, first.port);

  expect(await ask(second.url, 'select 1')).toBe('1');
  expect(await busy).toBeInstanceOf(Error);
});

it('a start stops the orphaned server of an earlier run and reuses its port', async () => {
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

it('a start ignores a pid file whose pid belongs to another program', async () => {
  const first = await start(await newFolder());
  await first.stop();
  const stranger = spawn('sleep', ['60'], await runAs(first.folder));
  onTestFinished(() => void stranger.kill('SIGKILL'));
  await writeFile(join(first.folder, 'postmaster.pid'), `${stranger.pid}\n${first.folder}\n1\n5432\n.\n127.0.0.1\n`);

  const second = await start(first.folder);

  expect(await ask(second.url, 'select 1')).toBe('1');
  expect(stranger.exitCode).toBeNull();
});

it('a start treats a zombie server as dead', async () => {
  const first = await start(await newFolder());
  await first.stop();
  // The shell becomes a program that never waits for its child.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], {
    ...(await runAs(first.folder)),
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

  const second = await start(first.folder, first.port);

  expect(await ask(second.url, 'select 1')).toBe('1');
  expect(() => process.kill(Number(zombie), 0)).not.toThrow();
});
