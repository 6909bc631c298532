import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../../core/log.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { deploy } from '../../support/runtime-engine.ts';
import { runCli } from '../run-cli.ts';
import { startCli } from '../start-cli.ts';

const PROJECT = join(import.meta.dirname, '../../..');

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const enqueue = (args: readonly string[], options: { input?: string | Buffer; cwd?: string } = {}) =>
  runCli(['enqueue', ...args], { env: { DATABASE_URL: database.url }, ...options });

async function row(id: string): Promise<Record<string, unknown>> {
  const { rows } = await database.pool.query(
    `select *, payload::text as payload, extract(epoch from run_at - created_at)::float8 as wait
       from millrace.jobs where id = $1`,
    [id.trim()],
  );
  return rows[0];
}

async function count(): Promise<number> {
  const { rows } = await database.pool.query('select count(*)::integer as jobs from millrace.jobs');
  return rows[0].jobs;
}

it('enqueue prints only the id, and warns when the job has no handler', async () => {
  const { code, stdout, stderr } = await enqueue(['a', '{"n": 1}']);

  expect(code).toBe(0);
  expect(await row(stdout)).toMatchObject({ job_type: 'a', payload: '{"n": 1}', status: 'pending' });
  expect(stderr).toBe('warning: no handler for a is registered; the job waits\n');
});

it('enqueue stores every option', async () => {
  const flags = ['--in', '5m', '--priority', '1', '--max-attempts', '2', '--routing-key', 'k', '--group-key', 'g'];

  const { stdout } = await enqueue(['a', ...flags, '--unique-key', 'u', '--json']);
  const second = await enqueue(['a', '--routing-key', 'k', '--unique-key', 'u', '--json']);

  const { id, deduplicated } = JSON.parse(stdout);
  const job = { priority: 1, max_attempts: 2, routing_key: 'k', group_key: 'g', unique_key: 'u', wait: 300 };
  expect(deduplicated).toBe(false);
  expect(await row(id)).toMatchObject({ ...job, payload: '{}' });
  expect(JSON.parse(second.stdout)).toEqual({ id, deduplicated: true, replaced: false });
});

it('enqueue accepts an RFC 3339 time', async () => {
  const { stdout } = await enqueue(['a', '--at', '2100-01-01T00:00:00+02:00']);

  expect(await row(stdout)).toMatchObject({ run_at: new Date('2099-12-31T22:00:00Z') });
});

it('enqueue suggests a registered handler with a similar name', async () => {
  const db = openDatabase({ connectionString: database.url, max: 1, name: 'test', log: openLog(() => undefined) });
  await deploy(
    db,
    { jobType: 'send_reminder' },
    { jobType: 'index_record', routingKey: 'vector' },
    { jobType: 'index_record', routingKey: 'text' },
  );
  await db.close();

  const [near, far] = [await enqueue(['send_remainder']), await enqueue(['charge_card'])];
  const keyed = await enqueue(['index_record', '--routing-key', 'vectors']);

  expect(near.stderr).toContain('the job waits; did you mean send_reminder?\n');
  const unkeyed = await enqueue(['index_record']);
  const reached = await enqueue(['send_reminder', '--routing-key', 'text']);

  expect(keyed.stderr).toContain('did you mean index_record --routing-key vector?\n');
  expect(unkeyed.stderr).toMatch(
    /did you mean index_record --routing-key text or index_record --routing-key vector\?\n/,
  );
  expect(reached.stderr).toContain('no handler for send_reminder.text is registered; the job waits');
  expect(far.stderr).toBe('warning: no handler for charge_card is registered; the job waits\n');
});

describe('CLI-01: enqueue', () => {
  it.each([
    [['A'], 'Expected lower-case letters'],
    [['a', '--in', 'soon'], 'Expected a duration'],
    [['a', '--in', '99999999d'], '7d, at most 36500d'],
    [['a', '--at', '2030-01-01T00:00:00'], 'Expected a time with a time zone'],
    [['a', '--at', '2030-01-31T00:00:00Z', '--in', '5m'], '--in or --at, not both'],
    [['a', '--at', '2030-02-30T00:00:00Z'], 'Expected a time with a time zone'],
    [['a', '--at', '2030-02-30'], 'Expected a time with a time zone'],
    [['a', '--priority', '10'], 'Expected a whole number from 0 to 9.'],
    [['a', '--max-attempts', '0'], 'Expected a whole number from 1 to 1000.'],
    [['a', '--unique-key', ''], 'Expected 1 to 500 characters.'],
    [['a', '{"n":'], 'payload: is not JSON'],
    [[], "missing required argument 'job_type'"],
  ])('rejects %j with exit code 2 and inserts nothing', async (args, sentence) => {
    const before = await count();

    const { code, stdout, stderr } = await enqueue([...args, '--json']);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
    expect(await count()).toBe(before);
  });

  it('validates the payload with the handler of the project in the current folder', async () => {
    const good = '{"to": "ada@example.com", "subject": "Hello", "text": "x"}';

    const [wrong, right] = await Promise.all([
      enqueue(['send_reminder', '{"to": "ada@example.com", "subject": "a\\nb", "text": "x"}'], { cwd: PROJECT }),
      enqueue(['send_reminder', good], { cwd: join(PROJECT, 'test/cli') }),
    ]);

    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain('payload/subject: must be one line');
    expect(right.code).toBe(0);
  });
});

describe('PAY-01: a payload with a NUL or a lone surrogate', () => {
  it.each([
    ['{"note":"ab\\u0000cd"}', 'payload/note: has a NUL or half a surrogate'],
    ['{"note":"x\\ud83d"}', 'payload/note: has a NUL or half a surrogate'],
  ])('is rejected with its field: %s', async (payload, sentence) => {
    const before = await count();

    const { code, stdout, stderr } = await enqueue(['a', payload]);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
    expect(await count()).toBe(before);
  });

  it('is rejected when standard input is not UTF-8', async () => {
    const { code, stderr } = await enqueue(['a', '-'], { input: Buffer.from('{"note":"\xff"}', 'latin1') });

    expect({ code, stderr }).toEqual({ code: 2, stderr: 'error: standard input is not UTF-8 text\n' });
  });

  it('is accepted with an emoji, as an argument and as standard input', async () => {
    const payload = '{"note":"ok 😀"}';

    const [argument, input] = await Promise.all([enqueue(['a', payload]), enqueue(['a', '-'], { input: payload })]);

    for (const { stdout } of [argument, input]) expect((await row(stdout)).payload).toBe('{"note": "ok 😀"}');
  });
});

describe('PAY-04: numbers in a payload', () => {
  it.each([
    ['{"n":9007199254740993}', 'payload/n: 9007199254740993 is not exact as a JavaScript number'],
    ['{"e":1e400}', 'payload/e: 1e400 is not exact'],
    ['{"x":NaN}', 'is not JSON'],
  ])('are rejected when the handler would reject them: %s', async (payload, sentence) => {
    const { code, stdout, stderr } = await enqueue(['a', payload]);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  it('keep their digits when typed, and when inserted with SQL', async () => {
    const { stdout } = await enqueue(['a', '{"p":1.10,"q":0.10000000000000000}']);
    const { rows } = await database.pool.query(
      `insert into millrace.jobs (job_type, payload) values ('a', '{"n":9007199254740993,"p":1.10}') returning id`,
    );

    const [plain, json] = await Promise.all([
      runCli(['jobs', 'show', rows[0].id, '--database-url', database.url]),
      runCli(['jobs', 'show', rows[0].id, '--database-url', database.url, '--json']),
    ]);

    expect((await row(stdout)).payload).toBe('{"p": 1.10, "q": 0.10000000000000000}');
    expect(plain.stdout).toContain('payload\t{"n":9007199254740993,"p":1.10}');
    expect(json.stdout).toContain('"payload":{"n":9007199254740993,"p":1.10}');
  });
});

describe('enqueue --watch', () => {
  it('prints the steps to standard error, and exits with 1 when the job does not succeed', async () => {
    const { process: child, ended } = startCli(['enqueue', 'a', '--watch', '--json'], {
      env: { DATABASE_URL: database.url },
    });
    let told = '';
    child.stderr.on('data', (text) => (told += text));
    await eventually(() => expect(told).toContain('pending\n'));
    const { rows } = await database.pool.query('select max(id) as id from millrace.jobs');
    await database.pool.query('select millrace.cancel($1)', [rows[0].id]);

    const { code, stdout, stderr } = await ended;
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ id: rows[0].id, deduplicated: false, status: 'cancelled' });
    expect(stderr).toMatch(/pending\njob \d+ waits: no handler for a is registered; .*\ncancelled\njob \d+ was/);
  });
});
