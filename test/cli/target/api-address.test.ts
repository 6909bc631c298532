import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openBothWays } from '../backend/api-world.ts';
import { runCli } from '../run-cli.ts';

const { url, byApi, keyOf, test } = await openBothWays();
const secret = `millrace_1_${randomBytes(16).toString('hex')}`;
const COMMANDS = [['jobs', 'list'], ['jobs', 'show', '1'], ['stats'], ['jobs', 'retry', '1'], ['enqueue', 'a', '{}']];

describe('which way', () => {
  it.each([
    [['--database-url', 'postgres://a@h/d', '--api-url', 'https://h'], {}, '--database-url or --api-url, not both'],
    [['--api-url', 'https://h'], { DATABASE_URL: 'postgres://a@127.0.0.1:1/d' }, 'cannot reach https://h/'],
    [[], { DATABASE_URL: 'postgres://a@127.0.0.1:1/d', MILLRACE_API_URL: 'https://h' }, 'cannot reach 127.0.0.1:1/d'],
    [[], { MILLRACE_API_URL: 'https://none.invalid/base//' }, 'cannot reach https://none.invalid/base/: '],
  ])('is that of %j with %j', async (flags, environment, sentence) => {
    const { code, stdout, stderr } = await runCli(['jobs', 'list', ...flags], { env: environment });

    expect({ code, stdout }).toEqual({ code: sentence.startsWith('cannot') ? 7 : 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  it.each([
    ['ftp://host/', 'this is not the address of an API'],
    [secret, 'this is not an address that can be read'],
    [`https://user:${secret}@host/`, 'put the key into MILLRACE_API_KEY'],
    [`https://host/?key=${secret}`, 'nothing can follow after a ?'],
    ['http://millrace.example/', 'everybody on the way could read the key'],
    ['http://10.0.0.1:8377', 'everybody on the way could read the key'],
  ])('is refused for %s', async (address, sentence) => {
    const answers = [['--api-url', address], []].map((flags) =>
      runCli(['jobs', 'list', ...flags], { env: { MILLRACE_API_URL: address } }),
    );

    for (const { code, stdout, stderr } of await Promise.all(answers)) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(sentence);
      expect(stderr).not.toContain(secret);
    }
  });

  it.each([[['up']], [['mail']], [['mail', 'show', '1']]])(
    'is none for %j, which is about this machine',
    async (args) => {
      const { code, stdout, stderr } = await byApi(args);

      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toBe(`error: ${args[0]} is about the stack on this machine: leave --api-url out\n`);
    },
  );

  it.each([[['sql', 'select 1']], [['migrate']], [['url']]])('is the database alone for %j', async (args) => {
    const { code, stdout, stderr } = await byApi(args);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(
      `error: the API at ${url}/ does not do this, which needs the database: name it with --database-url or DATABASE_URL\n`,
    );
  });
});

describe('the key', () => {
  it.each([
    ['', 'does not let us in'],
    [secret, 'put a key into MILLRACE_API_KEY'],
    ['two words', 'MILLRACE_API_KEY: a key holds no spaces'],
  ])('is refused when it is %j', async (key, sentence) => {
    const answers = await Promise.all(COMMANDS.map((args) => byApi(args, key)));

    for (const { code, stdout, stderr } of answers) {
      expect({ code, stdout }).toEqual({ code: key.includes(' ') ? 2 : 4, stdout: '' });
      expect(stderr).toContain(sentence);
      expect(stderr).not.toContain(key || 'millrace_');
    }
  });

  it('is told which scope it lacks', async () => {
    const { code, stdout, stderr } = await byApi(['jobs', 'retry', '1'], await keyOf(['jobs:read']));

    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toBe(
      'error: the key lacks the scope jobs:operate and has jobs:read: npx millrace keys create me --scope jobs:operate\n',
    );
  });

  it('of a viewer shows a job without its payload, and says so', async () => {
    const { rows } = await test.pool.query("insert into millrace.jobs (job_type) values ('mail') returning id");
    const viewer = await keyOf(['jobs:read']);

    const plain = await byApi(['jobs', 'show', rows[0].id], viewer);
    const json = await byApi(['jobs', 'show', rows[0].id, '--json'], viewer);

    expect(plain.stdout).toContain('payload\tnot shown: the key lacks the scope payload:read\n');
    expect(JSON.parse(json.stdout)).toMatchObject({ id: rows[0].id, payload_restricted: true });
    expect(JSON.parse(json.stdout)).not.toHaveProperty('payload');
  });

  it('of a producer enqueues, follows and cancels', async () => {
    const producer = await keyOf(['jobs:enqueue']);

    const { stdout } = await byApi(['enqueue', 'any'], producer);
    const shown = await byApi(['jobs', 'show', stdout.trim()], producer);
    const cancelled = await byApi(['jobs', 'cancel', stdout.trim()], producer);
    const again = await byApi(['jobs', 'cancel', '999999999'], producer);

    expect(shown.code).toBe(0);
    expect(cancelled).toMatchObject({ code: 0, stdout: `${stdout.trim()}\tcancelled\n` });
    expect(again).toMatchObject({ code: 3, stderr: 'error: job 999999999 does not exist\n' });
  });
});
