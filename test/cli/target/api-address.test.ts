import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openBothWays } from '../backend/api-world.ts';
import { runCli } from '../run-cli.ts';

const { url, byApi, keyOf, test } = await openBothWays();
const secret = `millrace_1_${randomBytes(16).toString('hex')}`;
const COMMANDS = [['jobs', 'list'], ['jobs', 'show', '1'], ['stats'], ['jobs', 'retry', '1'], ['enqueue', 'a', '{}']];

describe('the target of a command', () => {
  it.each([
    [['--database-url', 'postgres://a@h/d', '--api-url', 'https://h'], {}, '--database-url or --api-url, not both'],
    [['--api-url', 'https://h'], { DATABASE_URL: 'postgres://a@127.0.0.1:1/d' }, 'cannot reach https://h/'],
    [[], { DATABASE_URL: 'postgres://a@127.0.0.1:1/d', MILLRACE_API_URL: 'https://h' }, 'cannot reach 127.0.0.1:1/d'],
    [[], { MILLRACE_API_URL: 'https://none.invalid/base//' }, 'cannot reach https://none.invalid/base/: '],
  ])('is the one of %j with the environment %j', async (flags, environment, sentence) => {
    const { code, stdout, stderr } = await runCli(['jobs', 'list', ...flags], { env: environment });

    expect({ code, stdout }).toEqual({ code: sentence.startsWith('cannot') ? 7 : 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  it.each([
    ['ftp://host/', 'this is not the address of an API'],
    [secret, 'the address is malformed'],
    [`https://user:${secret}@host/`, 'must not contain credentials: set MILLRACE_API_KEY instead'],
    [`https://host/?key=${secret}`, 'must not contain ? or #'],
    ['http://millrace.example/', 'http:// to another machine would expose the key'],
    ['http://10.0.0.1:8377', 'http:// to another machine would expose the key'],
  ])('is rejected with the API address %s', async (address, sentence) => {
    const answers = [['--api-url', address], []].map((flags) =>
      runCli(['jobs', 'list', ...flags], { env: { MILLRACE_API_URL: address } }),
    );

    for (const { code, stdout, stderr } of await Promise.all(answers)) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(sentence);
      expect(stderr).not.toContain(secret);
    }
  });

  it.each([[['dev']], [['mail']], [['mail', 'show', '1']]])(
    'cannot be an API for %j, which works on the local stack',
    async (args) => {
      const { code, stdout, stderr } = await byApi(args);

      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toBe(`error: ${args[0]} works on the stack on this machine: omit --api-url\n`);
    },
  );

  it.each([[['sql', 'select 1']], [['migrate']], [['url']]])('can only be a database for %j', async (args) => {
    const { code, stdout, stderr } = await byApi(args);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(
      `error: this command requires a database, not the API at ${url}/: name one with --database-url or DATABASE_URL\n`,
    );
  });
});

describe('the key', () => {
  it.each([
    ['', 'denied access'],
    [secret, 'set MILLRACE_API_KEY'],
    ['two words', 'MILLRACE_API_KEY: expected printable ASCII characters without spaces'],
  ])('is rejected when it is %j', async (key, sentence) => {
    const answers = await Promise.all(COMMANDS.map((args) => byApi(args, key)));

    for (const { code, stdout, stderr } of answers) {
      expect({ code, stdout }).toEqual({ code: key.includes(' ') ? 2 : 4, stdout: '' });
      expect(stderr).toContain(sentence);
      expect(stderr).not.toContain(key || 'millrace_');
    }
  });

  it('gets an error that names the scope it lacks', async () => {
    const { code, stdout, stderr } = await byApi(['jobs', 'retry', '1'], await keyOf(['jobs:read']));

    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toBe(
      'error: the key lacks the scope jobs:operate (it has jobs:read): npx millrace keys create me --scope jobs:operate\n',
    );
  });

  it('of a viewer shows a job without its payload, with the reason', async () => {
    const { rows } = await test.pool.query("insert into millrace.jobs (job_type) values ('mail') returning id");
    const viewer = await keyOf(['jobs:read']);

    const plain = await byApi(['jobs', 'show', rows[0].id], viewer);
    const json = await byApi(['jobs', 'show', rows[0].id, '--json'], viewer);

    expect(plain.stdout).toContain('payload\tnot shown: the key lacks the scope payload:read\n');
    expect(JSON.parse(json.stdout)).toMatchObject({ id: rows[0].id, payload_restricted: true });
    expect(JSON.parse(json.stdout)).not.toHaveProperty('payload');
  });

  it('of a producer can enqueue, show, wait for and cancel jobs', async () => {
    const producer = await keyOf(['jobs:enqueue']);

    const { stdout } = await byApi(['enqueue', 'any'], producer);
    const shown = await byApi(['jobs', 'show', stdout.trim()], producer);
    const json = await byApi(['jobs', 'show', stdout.trim(), '--json'], producer);
    const waited = await byApi(['jobs', 'wait', stdout.trim(), '--timeout', '0.1s'], producer);
    const cancelled = await byApi(['jobs', 'cancel', stdout.trim()], producer);
    const again = await byApi(['jobs', 'cancel', '999999999'], producer);

    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('status\tpending\n') });
    expect(shown.stdout).toContain('last error\tnot shown: the key lacks the scope jobs:read\n');
    expect(Object.keys(JSON.parse(json.stdout)).filter((name) => /error|result|_key$/.test(name))).toEqual([
      'routing_key',
    ]);
    expect(waited).toMatchObject({ code: 8, stdout: 'pending\n' });
    expect(cancelled).toMatchObject({ code: 0, stdout: `${stdout.trim()}\tcancelled\n` });
    expect(again).toMatchObject({ code: 3, stderr: 'error: job 999999999 does not exist\n' });
  });
});
