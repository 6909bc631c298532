import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { findState, isRunning, readState, removeState, statePath, writeState } from '../../local/state.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const STATE = {
  pid: process.pid,
  databaseUrl: 'postgres://millrace:secret@127.0.0.1:54329/millrace',
  sqsEndpoint: 'http://127.0.0.1:9324',
  lambdaEndpoint: 'http://127.0.0.1:9001',
  lambdaAccessKeyId: 'key',
  handlers: [{ jobType: 'send_reminder', routingKey: '', queueUrl: 'http://q', deadLetterQueueUrl: 'http://d' }],
  mailFolder: '/project/.millrace/mail',
  smtpUrl: 'smtp://127.0.0.1:2525',
  filesUrl: 'http://127.0.0.1:9400',
  apiUrl: 'http://127.0.0.1:9400',
};

it('findState finds the state from the project folder and from any folder in it', async () => {
  const project = await temporaryFolder();
  const deep = join(project, 'src', 'deep');
  await mkdir(deep, { recursive: true });

  await writeState(project, STATE);

  expect(await findState(project)).toEqual({ folder: project, state: expect.objectContaining(STATE) });
  expect(await findState(deep)).toEqual(await findState(project));
});

it('findState returns the state of the nearest project', async () => {
  const outer = await temporaryFolder();
  const inner = join(outer, 'inner');
  await writeState(outer, STATE);
  await writeState(inner, { ...STATE, smtpUrl: 'smtp://127.0.0.1:2526' });

  const found = await findState(inner);

  expect(found?.folder).toBe(inner);
  expect(found?.state.smtpUrl).toBe('smtp://127.0.0.1:2526');
});

it('findState returns undefined before the first start and after the state was removed', async () => {
  const project = await temporaryFolder();
  const before = await findState(project);
  await writeState(project, STATE);

  await removeState(project);

  expect(before).toBeUndefined();
  expect(await findState(project)).toBeUndefined();
});

it('writeState writes the fields that other tools read, and only the current user can read the file', async () => {
  const project = await temporaryFolder();

  await writeState(project, STATE);

  const json = JSON.parse(await readFile(statePath(project), 'utf8'));
  const { mode } = await stat(statePath(project));
  expect(json).toMatchObject(STATE);
  expect(mode & 0o077).toBe(0);
  expect(await readdir(join(project, '.millrace'))).toEqual(['dev.json']);
});

it.each(['', '{', 'null', '[]', '{"pid":"1"}', '{"pid":1,"processStart":"x"}'])(
  'findState rejects the state file %j',
  async (text) => {
    const project = await temporaryFolder();
    await mkdir(join(project, '.millrace'));
    await writeFile(statePath(project), text);

    await expect(findState(project)).rejects.toThrow(/dev\.json was not written by npx millrace dev: delete it/);
  },
);

it('isRunning is true until the process of the stack ends', async () => {
  const project = await temporaryFolder();
  const process = spawn('sleep', ['60']);
  onTestFinished(() => void process.kill('SIGKILL'));
  await writeState(project, { ...STATE, pid: process.pid! });
  const state = await readState(project);
  const before = await isRunning(state!);

  process.kill('SIGKILL');
  await once(process, 'exit');

  expect(before).toBe(true);
  expect(await isRunning(state!)).toBe(false);
});

it('isRunning is false for another process with the same pid', async () => {
  const project = await temporaryFolder();
  await writeState(project, STATE);
  const state = await readState(project);
  const later = spawn('sleep', ['60']);
  onTestFinished(() => void later.kill('SIGKILL'));

  expect(await isRunning(state!)).toBe(true);
  expect(await isRunning({ ...state!, pid: later.pid! })).toBe(false);
});

it('isRunning is false for a zombie', async () => {
  // The shell becomes a program that never waits for its child.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60']);
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [line] = await once(parent.stdout, 'data');
  const project = await temporaryFolder();
  await writeState(project, { ...STATE, pid: Number(line) });
  const state = await readState(project);
  const before = await isRunning(state!);

  await eventually(async () => expect(await isRunning(state!)).toBe(false));

  expect(before).toBe(true);
  expect(() => process.kill(Number(line), 0)).not.toThrow();
});
