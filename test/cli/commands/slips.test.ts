import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';
import { openDeadLetters } from './dead-letters.ts';

const { run, bury, pool, env } = await openDeadLetters();

describe('an interval without a time in it', () => {
  it.each([
    [['dlq', 'list'], '--since', '--until'],
    [['dlq'], '--since', '--until'],
    [['redrive', '--dry-run'], '--since', '--until'],
    [['jobs', 'list'], '--since', '--created-to'],
  ])('is refused with both times by %j', async (command, since, until) => {
    const answers = [
      await run(...command, since, '1h', until, '2h'),
      await run(...command, since, '2026-03-01', until, '2026-02-28T12:00:00Z'),
      await run(...command, since, '2026-02-30'),
    ];

    expect(answers.map(({ code, stdout }) => ({ code, stdout }))).toEqual(
      [1, 2, 3].map(() => ({ code: 2, stdout: '' })),
    );
    expect(answers.map(({ stderr }) => stderr)).toEqual([
      `error: ${until} (2h ago) is before --since (1h ago): no time is between them\n`,
      `error: ${until} (2026-02-28T12:00:00.000Z) is before --since (2026-03-01T00:00:00.000Z): ` +
        'no time is between them\n',
      expect.stringContaining("'2026-02-30' is invalid"),
    ]);
  });

  it('may be a single time', async () => {
    const { code } = await run('dlq', 'list', '--since', '2026-03-01', '--until', '2026-03-01');

    expect(code).toBe(0);
  });

  it('is refused by millrace.start_redrive', async () => {
    const filter = { since: '2026-03-01T00:00:00Z', until: '2026-02-28T00:00:00Z' };

    const starting = pool.query('select millrace.start_redrive($1::jsonb)', [JSON.stringify(filter)]);

    await expect(starting).rejects.toThrow('until: 2026-02-28T00:00:00Z is before since, 2026-03-01T00:00:00Z');
  });
});

describe('a payload that is the name of a file', () => {
  it.each([['payload.json'], ['@payload.json'], ['data/job'], ['@elsewhere.txt']])(
    'is refused with the way to read the file: %s',
    async (text) => {
      const cwd = await temporaryFolder();
      await mkdir(join(cwd, 'data'));
      await writeFile(join(cwd, 'data/job'), '{}');

      const { code, stderr } = await runCli(['enqueue', 'mail', text], { cwd, env });

      expect(code).toBe(2);
      expect(stderr).toContain(
        `to read the payload from a file: npx millrace enqueue mail - < ${text.replace('@', '')}`,
      );
    },
  );

  it.each([
    [
      ['enqueue', 'mail', '@a b.json', '--routing-key', 'x', '--in', '5m', '--watch'],
      `enqueue mail - --in 5m --routing-key x --watch < 'a b.json'`,
    ],
    [['enqueue', 'mail', 'p.json', '--at', '2100-01-01'], 'enqueue mail - --at 2100-01-01T00:00:00.000Z < p.json'],
    [
      ['schedules', 'create', 'nightly', 'mail', 'p.json', '--every', '1h'],
      'schedules create nightly mail - --every 1h < p.json',
    ],
    [
      ['enqueue', 'mail', 'p.json', '--database-url', 'postgres://me:secret@127.0.0.1:1/x'],
      'enqueue mail - --database-url … < p.json',
    ],
  ])('is refused with every option of the command: %j', async (args, line) => {
    const { code, stderr } = await runCli(args, { env });

    expect(code).toBe(2);
    expect(stderr).toMatch(/is not JSON/);
    expect(stderr.trim().endsWith(`: npx millrace ${line}`)).toBe(true);
  });

  it.each([['{"a": 1'], ['hello'], ['[1.json']])('is not suspected in other text: %s', async (text) => {
    const { code, stderr } = await runCli(['enqueue', 'mail', text], { env });

    expect(code).toBe(2);
    expect(stderr).not.toContain('from a file');
  });
});

it.each([[['-c', 'select 1']], [['-l']], [['--list']]])('psql says where its arguments belong: %j', async (args) => {
  const { code, stderr } = await run('psql', ...args);

  expect(code).toBe(2);
  expect(stderr).toContain(`unknown option '${args[0]}'`);
  expect(stderr).toContain('; put the arguments for psql after --, such as npx millrace psql -- -c "select 1"');
});

it.each([
  [
    ['help', 'jobs', 'show'],
    ['jobs', 'show', '--help'],
  ],
  [
    ['help', 'dlq', 'groups'],
    ['dlq', 'groups', '--help'],
  ],
  [
    ['help', 'enqueue'],
    ['enqueue', '--help'],
  ],
  [
    ['help', 'jobs'],
    ['jobs', '--help'],
  ],
])('%j prints the help of the command', async (args, same) => {
  const [asked, expected] = [await run(...args), await run(...same)];

  expect(asked).toEqual(expected);
  expect(asked.code).toBe(0);
});

describe('jobs wait', () => {
  const insert = async (sql: string) => (await pool.query<{ id: string }>(`${sql} returning id::text`)).rows[0]!.id;

  it('waits for several jobs, and succeeds only if all did', async () => {
    const [dead] = await bury();
    const pending = await insert(`insert into millrace.jobs (job_type) values ('mail')`);

    const both = await run('jobs', 'wait', dead!, dead!, pending, '--timeout', '0s');
    const json = await run('jobs', 'wait', dead!, pending, '--timeout', '0s', '--json');
    const unknown = await run('jobs', 'wait', dead!, '999999');

    expect(both).toMatchObject({ code: 8, stdout: `${dead}\tdead_letter\n${pending}\tpending\n` });
    expect(JSON.parse(json.stdout).items.map(({ id }: { id: string }) => id)).toEqual([dead, pending]);
    expect(unknown).toMatchObject({ code: 3, stdout: '' });
  });

  it('says once what a delayed job waits for', async () => {
    const later = await insert(
      `insert into millrace.jobs (job_type, run_at) values ('mail', now() + interval '1 day')`,
    );

    const { stderr } = await run('jobs', 'wait', later, '--timeout', '1s');

    const lines = `^job ${later} waits: it is not due before \\S+Z\njob ${later} is still pending after 1s\n$`;
    expect(stderr).toMatch(new RegExp(lines));
  });
});

it('jobs show of a dead job names one next command', async () => {
  const [id] = await bury();

  const { stdout, stderr } = await runCli(['jobs', 'show', id!], { env, terminal: true });

  const named = stripVTControlCharacters(`${stdout}${stderr}`).match(/npx millrace .*/g);
  expect(new Set(named)).toEqual(new Set([`npx millrace jobs retry ${id}`]));
});

describe("a job type in the form of a handler's name", () => {
  it.each([
    [['enqueue', 'mail.bulk', '{}']],
    [['schedules', 'create', 'nightly', 'mail.bulk', '--every', '1h']],
    [['jobs', 'list', '--job-type', 'mail.bulk']],
    [['redrive', '--job-type', 'mail.bulk', '--dry-run']],
  ])('is refused with the routing key: %j', async (args) => {
    const { code, stderr } = await run(...args);

    expect(code).toBe(2);
    expect(stderr).toContain('Did you mean mail --routing-key bulk?');
  });
});

it.each([
  ['--delay', '--in'],
  ['--dely', '--in'],
  ['--run-at', '--at'],
  ['--run_at', '--at'],
  ['--scheduled-at', '--at'],
  ['--countdown', '--in'],
  ['--max_retries', '--max-attempts, which counts the first attempt too'],
  ['--retries', '--max-attempts, which counts the first attempt too'],
  ['--singleton-key', '--unique-key'],
  ['--payload', 'the argument [json]'],
])('enqueue answers %s with %s', async (flag, known) => {
  const { code, stderr } = await run('enqueue', 'mail', '{}', flag, '5m');

  expect({ code, stderr }).toEqual({ code: 2, stderr: `error: unknown option '${flag}'; did you mean ${known}?\n` });
});
