import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openDeadLetters } from './dead-letters.ts';

const { run, bury, stray, pool } = await openDeadLetters();
const groupOf = (error: string) => createHash('md5').update(error).digest('hex');

describe('CLI-01: dlq groups', () => {
  it('prints a line per kind of error, largest group first', async () => {
    await bury({ error: 'boom', count: 3 });
    await bury({ error: 'crash\nin line 2', jobType: 'other' });

    const { code, stdout, stderr } = await run('dlq');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').map((line) => line.split('\t').slice(0, 5))).toEqual([
      [groupOf('boom').slice(0, 8), '3', '75 %', 'mail', 'boom'],
      [groupOf('crash\nin line 2').slice(0, 8), '1', '25 %', 'other', 'crash'],
      [''],
    ]);
  });

  it('prints one document with --json', async () => {
    await bury({ error: 'boom', count: 3 });
    await bury({ error: 'boom', jobType: 'index', routingKey: 'vector' });

    const { code, stdout, stderr } = await run('dlq', 'groups', '--json', '--since', '1h');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      items: [{ fingerprint: groupOf('boom'), jobs: 4, share: 1, handlers: ['index.vector', 'mail'], error: 'boom' }],
      total: 4,
    });
  });

  it.each([
    [['--job-type', 'mail'], 2],
    [['--job-type', 'index', '--routing-key', 'vector'], 1],
    [['--routing-key', ''], 2],
    [['--since', '2100-01-01'], 0],
    [['--until', '2000-01-01'], 0],
    [['--since', '1h', '--until', '30m'], 0],
  ])('counts only what %j selects', async (options, jobs) => {
    await bury({ count: 2 });
    await bury({ jobType: 'index', routingKey: 'vector' });

    const { stdout } = await run('dlq', '--json', ...options);

    expect(JSON.parse(stdout).total).toBe(jobs);
  });

  it('exits with 8 for --fail-if-any only when a dead letter matches', async () => {
    const none = await run('dlq', '--fail-if-any', '--json');
    await bury();
    const some = await run('dlq', '--fail-if-any', '--json');

    expect(none).toEqual({ code: 0, stdout: '{"items":[],"total":0}\n', stderr: '' });
    expect({ code: some.code, total: JSON.parse(some.stdout).total }).toEqual({ code: 8, total: 1 });
  });
});

describe('CLI-01: dlq list', () => {
  it('prints a line per dead letter, newest first, including strays', async () => {
    const [id] = await bury();
    const number = await stray();

    const { code, stdout, stderr } = await run('dlq', 'list');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(new RegExp(`^stray ${number}\t-\t-\t20[^\t]+\t-\t[0-9a-f]{8}\tunreadable$`));
    expect(lines[1]).toMatch(new RegExp(`^${id}\tmail\t5/5\t20[^\t]+\t-\t[0-9a-f]{8}\tboom$`));
  });

  it('prints job ids but no member named id, so that they can be piped into redrive', async () => {
    const [id] = await bury();
    const number = await stray();

    const { stdout } = await run('dlq', 'list', '--json');

    const [first, second] = JSON.parse(stdout).items;
    expect(first).toMatchObject({ dead_letter_id: number, job_id: null });
    expect(second).toMatchObject({ job_id: id });
    expect([first, second].map((letter) => 'id' in letter)).toEqual([false, false]);
  });

  it('applies every filter and the limit', async () => {
    const [a, b] = await bury({ count: 2 });
    const [c] = await bury({ error: 'the Disk is full', jobType: 'other' });
    const listed = async (...options: string[]) => {
      const { stdout } = await run('dlq', 'list', '--json', ...options);
      return JSON.parse(stdout).items.map((item: { job_id: string }) => item.job_id);
    };

    const answers = await Promise.all([
      listed('--error', 'disk'),
      listed('--group', groupOf('boom').slice(0, 6)),
      listed('--id', `${a},${c}`),
      listed('--job-type', 'mail,other', '--limit', '1'),
      listed('--id', `${b}`, '--job-type', 'other'),
    ]);

    expect(answers).toEqual([[c], [b, a], [c, a], [c], []]);
  });

  it.each([
    [['--group', 'xyz'], 2, 'Expected at least the first 4 characters of a fingerprint'],
    [['--group', 'abc'], 2, 'Expected at least the first 4 characters of a fingerprint'],
    [['--group', 'abcdef0123'], 3, 'no group of dead letters begins with abcdef0123'],
    [['--error', ' '], 2, 'Expected part of the error text'],
    [['--id', '1,x'], 2, 'Expected the id of a job'],
    [['--limit', '0'], 2, 'Expected a whole number'],
    [['--since', '1000000000d'], 2, 'Expected a duration such as 1h or 7d, at most 36500d'],
    [['--bogus'], 2, "unknown option '--bogus'"],
  ])('rejects %j', async (options, expected, sentence) => {
    const { code, stdout, stderr } = await run('dlq', 'list', '--json', ...options);

    expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
    expect(stderr).toContain(sentence);
  });
});

describe('CLI-01: dlq show', () => {
  it('prints a dead letter with every digit of its payload', async () => {
    const [id] = await bury({ payload: '{"n": 9007199254740993}' });
    await pool.query(`update millrace.dead_letters set message_id = 'm-1', message_sent_at = '2030-01-01T00:00:00Z',
      first_seen_at = '2030-01-02T00:00:00Z', last_seen_at = '2030-01-03T00:00:00Z'`);

    const [plain, json] = await Promise.all([run('dlq', 'show', id!), run('dlq', 'show', id!, '--json')]);

    expect(plain).toMatchObject({ code: 0, stderr: '' });
    expect(plain.stdout).toContain(
      'SQS deletes it\t2030-01-15T00:00:00.000Z\npayload\t{"n":9007199254740993}\nstack\t',
    );
    expect(json).toMatchObject({ code: 0, stderr: '' });
    expect(json.stdout).toContain('"payload":{"n":9007199254740993}');
    expect(JSON.parse(json.stdout)).toMatchObject({ job_id: id, message_id: 'm-1', last_error: 'boom', attempts: 5 });
  });

  it('prints a stray with its body', async () => {
    const number = await stray('{"a": "broken');

    const plain = await run('dlq', 'show', '--stray', number);

    expect(plain).toMatchObject({ code: 0, stderr: '' });
    expect(plain.stdout).toMatch(new RegExp(`^stray\t${number}\nhandler\t-\n`));
    expect(plain.stdout).toContain('body\t{"a": "broken\n');
  });

  it('prints a group for any of its prefixes', async () => {
    const ids = await bury({ count: 5 });
    await bury({ jobType: 'other', count: 2 });
    const group = groupOf('boom');

    const [plain, json] = await Promise.all([
      run('dlq', 'show', group.slice(0, 8)),
      run('dlq', 'show', '--group', group.slice(0, 4), '--json'),
    ]);

    expect(plain).toMatchObject({ code: 0, stderr: '' });
    expect(plain.stdout).toContain(`group\t${group}\ndead letters\t7\nhandler\tmail: 5\nhandler\tother: 2\n`);
    expect(plain.stdout).toContain('stack\tError: boom\\n    at work');
    expect(JSON.parse(json.stdout)).toMatchObject({ fingerprint: group, jobs: 7, last_error: 'boom' });
    expect(JSON.parse(json.stdout).samples).toHaveLength(3);
    expect(ids).toHaveLength(5);
  });

  it('explains why it has nothing to show', async () => {
    const { rows } = await pool.query(`insert into millrace.jobs (job_type) values ('mail') returning id::text`);

    const [alive, missing, wrong, nothing, both, noStray] = await Promise.all([
      run('dlq', 'show', rows[0].id, '--json'),
      run('dlq', 'show', '999999999', '--json'),
      run('dlq', 'show', 'abc', '--json'),
      run('dlq', 'show', '--json'),
      run('dlq', 'show', '1', '--stray', '2'),
      run('dlq', 'show', '--stray', '2'),
    ]);

    expect(alive).toEqual({ code: 5, stdout: '', stderr: `error: job ${rows[0].id} is pending, not dead\n` });
    expect(missing).toEqual({ code: 3, stdout: '', stderr: 'error: job 999999999 does not exist\n' });
    expect(wrong).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('expected a job id') });
    expect(nothing).toMatchObject({ code: 2, stdout: '' });
    expect(both).toMatchObject({ code: 2, stdout: '' });
    expect(noStray).toEqual({ code: 3, stdout: '', stderr: 'error: stray 2 does not exist or is no longer open\n' });
  });
});
