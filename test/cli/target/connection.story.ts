import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeState } from '../../../local/state.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** Creates a project whose stack is this process, or one that has stopped. */
async function project({ pid = process.pid, databaseUrl = database.url } = {}): Promise<string> {
  const folder = await temporaryFolder();
  await writeState(folder, {
    pid,
    databaseUrl,
    sqsEndpoint: 'http://127.0.0.1:1',
    lambdaEndpoint: 'http://127.0.0.1:1',
    lambdaAccessKeyId: 'key',
    handlers: [],
    mailFolder: join(folder, '.millrace/mails'),
    smtpUrl: 'smtp://127.0.0.1:1',
    filesUrl: 'http://127.0.0.1:1',
    apiUrl: 'http://127.0.0.1:1',
  });
  return folder;
}

describe('the database of a command', () => {
  it('is the one of the flag, else of the environment, else of the stack in a folder above', async () => {
    const folder = await project({ databaseUrl: 'postgres://c@stack/three' });
    const deep = join(folder, 'some/where');
    await mkdir(deep, { recursive: true });
    const env = { DATABASE_URL: 'postgres://b@environment/two' };

    const [flag, environment, stack] = await Promise.all([
      runCli(['url', '--database-url', 'postgres://a@flag/one'], { cwd: deep, env }),
      runCli(['url', '--json'], { cwd: deep, env }),
      runCli(['url'], { cwd: deep }),
    ]);

    expect(flag).toEqual({ code: 0, stdout: 'postgres://a@flag/one\n', stderr: '' });
    expect(environment.stdout).toBe('{"database_url":"postgres://b@environment/two"}\n');
    expect(stack.stdout).toBe('postgres://c@stack/three\n');
  });

  it('is the one of the running stack for a query', async () => {
    const folder = await project();

    const { code, stdout } = await runCli(['sql', 'select current_database()'], { cwd: folder });

    expect({ code, stdout }).toEqual({ code: 0, stdout: `${new URL(database.url).pathname.slice(1)}\n` });
  });

  it('is unknown when no stack runs, and the command exits with 7 and a hint', async () => {
    const { code, stdout, stderr } = await runCli(['jobs', 'list', '--json'], { cwd: await temporaryFolder() });

    expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    expect(stderr).toContain('start one with npx millrace dev, or name a database with --database-url');
  });

  it('is not the one of a stack that has stopped', async () => {
    const folder = await project({ pid: 2 ** 22 + 1 });

    const { code, stdout, stderr } = await runCli(['url'], { cwd: folder });

    expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    expect(stderr).toContain(`the stack of ${folder} has stopped (its process ${2 ** 22 + 1} is gone)`);
  });

  it('is not read from a malformed state file', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, '.millrace'));
    await writeFile(join(folder, '.millrace/dev.json'), '{"pid": ');

    const { code, stderr } = await runCli(['url'], { cwd: folder });

    expect(code).toBe(7);
    expect(stderr).toContain('delete it and start again');
  });
});

describe('WEB-05: an error of the command line contains no password', () => {
  const secret = randomBytes(8).toString('hex');
  const commands = [['jobs', 'list'], ['sql', 'select 1'], ['migrate'], ['enqueue', 'a']];
  const unusable = [
    `postgres://u:${secret}^$@#x@127.0.0.1/db`,
    `postgres://u:12#${secret}@127.0.0.1/db`,
    `postgres://u:12/${secret}@127.0.0.1/db`,
    `postgres://u:12?${secret}@127.0.0.1/db`,
    `postgres://u:${secret}%@127.0.0.1/db`,
    `mysql://u:${secret}@127.0.0.1/db`,
    secret,
  ];

  it.each(commands)('when the password is wrong: %s %s', async (...command) => {
    const login = `wrong_${secret}`;
    const url = new URL(database.url);
    url.username = login;
    url.password = `${secret}^$@#`;

    const { code, stdout, stderr } = await runCli(command, { env: { DATABASE_URL: url.href } });

    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain(`${url.host}${url.pathname} denied access`);
    expect(stderr).not.toContain(secret);
  });

  it.each([
    [`postgres://u:${secret}@127.0.0.1:1/db`, '127.0.0.1:1/db: connection refused'],
    [`postgres://u:${secret}@none.invalid/db`, 'none.invalid/db: unknown host'],
  ])('when the host is unreachable: %#', async (url, sentence) => {
    const answers = await Promise.all(commands.map((command) => runCli([...command, '--database-url', url])));

    for (const { code, stdout, stderr } of answers) {
      expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
      expect(stderr).toContain(`cannot reach ${sentence}`);
      expect(stderr).not.toContain(secret);
    }
  });

  it('when the database does not exist', async () => {
    const url = new URL('/no_such', database.url);

    const { code, stderr } = await runCli(['jobs', 'list', '--database-url', url.href]);

    expect(code).toBe(7);
    expect(stderr).toBe(`error: cannot reach ${url.host}/no_such: the database does not exist\n`);
  });

  it.each(unusable)('when the address is malformed: %#', async (url) => {
    const { code, stdout, stderr } = await runCli(['sql', 'select 1'], { env: { DATABASE_URL: url } });

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('expected postgres://user:password@host:5432/name');
    expect(stderr).not.toContain(secret);
  });

  it('when the option is mistyped', async () => {
    const { code, stderr } = await runCli(['jobs', 'list', `--database-ulr=postgres://u:${secret}@127.0.0.1/db`]);

    expect(code).toBe(2);
    expect(stderr).toContain("unknown option '--database-ulr=postgres://u:***@127.0.0.1/db'");
    expect(stderr).not.toContain(secret);
  });
});

describe('mail', () => {
  it('requires the stack of the folder', async () => {
    const { code, stderr } = await runCli(['mail'], { cwd: await temporaryFolder() });

    expect({ code, stderr }).toEqual({
      code: 7,
      stderr: 'error: no stack runs in this folder or above it: start one with npx millrace dev\n',
    });
  });

  it('lists and shows emails, and stops and starts the mailbox', async () => {
    const { storeMail } = await import('../../../local/mailbox/mails.ts');
    const cwd = await project();
    const folder = join(cwd, '.millrace/mails');
    const none = await runCli(['mail'], { cwd });
    await mkdir(folder);
    const raw = Buffer.from('From: A <a@x>\r\nTo: b@x\r\nSubject: Hello\r\n\r\nThe text\r\n');
    await storeMail(folder, { from: 'a@x', to: ['b@x'] }, raw);
    const { isStopped } = await import('../../../local/mailbox/stopped.ts');

    const list = await runCli(['mail', '--json'], { cwd });
    const shown = await runCli(['mail', 'show', '1'], { cwd });
    const missing = await runCli(['mail', 'show', '2'], { cwd });
    const stop = await runCli(['mail', 'stop'], { cwd });
    const stopped = await isStopped(folder);
    await runCli(['mail', 'start'], { cwd });

    expect(none).toEqual({ code: 0, stdout: '', stderr: 'no mail yet\n' });
    expect(JSON.parse(list.stdout)).toMatchObject({
      items: [{ number: 1, from: 'a@x', to: ['b@x'], subject: 'Hello' }],
    });
    expect(shown.stdout).toMatch(/Subject\tHello\n\nThe text/);
    expect(missing).toMatchObject({
      code: 3,
      stdout: '',
      stderr: 'error: email 2 does not exist; the mailbox has 1\n',
    });
    expect({ ...stop, stopped }).toMatchObject({ code: 0, stdout: '', stopped: true });
    expect(await isStopped(folder)).toBe(false);
  });
});
