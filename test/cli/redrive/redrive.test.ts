import { describe, expect, it } from 'vitest';
import { openDeadLetters } from '../commands/dead-letters.ts';
import { startCli } from '../start-cli.ts';

const { run, env, bury, stray, statusOf, pool } = await openDeadLetters();

const redrive = async (...args: string[]) => {
  const { code, stdout, stderr } = await run('redrive', '--yes', '--json', ...args);
  return { code, stderr, answer: stdout === '' ? undefined : JSON.parse(stdout) };
};

describe('CLI-01: redrive', () => {
  it('moves everything with --all, and prints how many', async () => {
    const ids = await bury({ count: 3 });

    const { code, stdout, stderr } = await run('redrive', '--all', '--yes');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^redrive\t\d+\nmoved\t3\n$/);
    expect(await Promise.all(ids.map(statusOf))).toEqual(['pending', 'pending', 'pending']);
  });

  it.each([
    [['--job-type', 'mail'], 3, 0],
    [['--error', 'DISK'], 1, 0],
    [['--routing-key', ''], 3, 0],
    [['--since', '1h'], 3, 0],
    [['--all', '--limit', '2'], 2, 1],
  ])('moves what %j selects', async (options, moved, left) => {
    await bury({ count: 2 });
    await bury({ error: 'the disk is full' });

    const { code, answer } = await redrive(...options);

    expect({ code, ...answer }).toMatchObject({ code: 0, status: 'done', moved, expected: moved, left });
  });

  it('moves one kind of error by a prefix of its group', async () => {
    await bury({ count: 2 });
    await bury({ error: 'another' });
    const { stdout } = await run('dlq', '--json');

    const { answer } = await redrive('--group', JSON.parse(stdout).items[0].group);

    expect(answer).toMatchObject({ moved: 2 });
  });

  it('prints with --dry-run which jobs it would move and why not the others, and moves nothing', async () => {
    await bury({ count: 2 });
    await bury({ jobType: 'gone', count: 3 });
    await stray();
    await pool.query('update millrace.handlers set paused_at = now()');

    const { code, stdout, stderr } = await run('redrive', '--all', '--rate', '0.5/s', '--dry-run');
    const json = await run('redrive', '--all', '--rate', '0.5/s', '--dry-run', '--json');

    expect(code).toBe(0);
    expect(stdout).toContain(
      'gone\t3\tno: deploy its handler first\nmail\t2\tyes, but its handler is paused\n-\t1\tno: a message without',
    );
    for (const sentence of [
      '6 dead letters found, 2 would be moved, in about 4 s at 0.5/s',
      '3 jobs without a handler: deploy gone first',
      '1 message without a job',
      'mail is paused: its 2 jobs will wait',
    ]) {
      expect(stderr).toContain(sentence);
    }
    expect(JSON.parse(json.stdout)).toMatchObject({ dry_run: true, matched: 6, movable: 2, seconds: 4 });
    expect((await pool.query('select from millrace.operations')).rows).toEqual([]);
  });

  it('reports a redrive that is already running', async () => {
    await bury();
    await pool.query(`select millrace.start_redrive('{"all": true}', 0.001)`);

    const { stderr } = await run('redrive', '--all', '--dry-run');

    expect(stderr).toMatch(/redrive \d+ by \S+ is running: 0 of 1 moved/);
  });

  it('exits with 3 when nothing matches, and with 5 when nothing that matches can be moved', async () => {
    const none = await redrive('--job-type', 'mail');
    await bury({ jobType: 'gone' });
    await stray();
    const unmovable = await redrive('--all');

    expect(none).toMatchObject({ code: 3, answer: { moved: 0 }, stderr: 'error: no dead letter matches\n' });
    expect(unmovable).toMatchObject({ code: 5, answer: { moved: 0 } });
    expect(unmovable.stderr).toContain('none of the matching dead letters can be moved:');
    expect(unmovable.stderr).toContain('1 job without a handler: deploy gone first');
    expect(unmovable.stderr).toContain('npx millrace dlq discard --stray N');
  });

  it('requires a confirmation', async () => {
    const [id] = await bury();

    const [plain, json] = await Promise.all([run('redrive', id!), run('redrive', id!, '--json')]);

    expect(plain).toMatchObject({ code: 6, stdout: '', stderr: expect.stringContaining('confirm with --yes') });
    expect(json).toMatchObject({ code: 6, stdout: '' });
    expect(await statusOf(id!)).toBe('dead_letter');
  });

  it.each([
    [[], '--all for every one'],
    [['--limit', '5'], '--all for every one'],
    [['--all', '--job-type', 'mail'], 'use it without a filter'],
    [['--all', '--rate', '0'], 'Expected jobs per second, 0.00001 to 10000, such as 50/s or 0.5/s.'],
    [['--all', '--rate', '-1/s'], 'Expected jobs per second'],
    [['--all', '--rate', 'abc'], 'Expected jobs per second'],
    [['--all', '--rate', '50/m'], 'Expected jobs per second'],
    [['--all', '--rate', '10001'], 'Expected jobs per second'],
    [['--all', '--limit', '0'], 'Expected a whole number'],
    [['abc'], 'Expected the id of a job'],
    [['--since', 'yesterday'], 'Expected a duration'],
  ])('rejects %j', async (options, sentence) => {
    const { code, answer, stderr } = await redrive(...options);

    expect({ code, answer }).toEqual({ code: 2, answer: undefined });
    expect(stderr).toContain(sentence);
  });
});

describe('DLQ-01: a job that is no longer dead', () => {
  it('does not run again, and every operator learns why', async () => {
    const [done, waiting] = await bury({ count: 2 });
    await redrive(done!, waiting!);
    await pool.query(
      `with gone as (delete from millrace.jobs_live where id = $1 returning *)
       insert into millrace.jobs_finished (id, slot, job_type, status, max_attempts, run_at, finished_at)
         select id, 5, job_type, 'succeeded', max_attempts, run_at, now() from gone`,
      [done],
    );

    const [first, second, dry] = await Promise.all([
      redrive(done!),
      redrive('--id', done!),
      redrive(done!, '--dry-run'),
    ]);
    const both = await redrive('--id', `${done},${waiting}`);

    expect([first.code, second.code, dry.code]).toEqual([5, 5, 5]);
    expect(first.answer).toEqual({
      ...{ redrive: null, moved: 0, skipped: 1 },
      skipped_jobs: [{ id: done, status: 'succeeded', reason: 'has already succeeded' }],
    });
    expect(second.stderr).toBe(`error: job ${done} has already succeeded\n`);
    expect(both.stderr).toContain(`error: job ${waiting} is pending, not dead\n`);
  });

  it('does not stop the others, and the command exits with 1', async () => {
    const [a, b] = await bury({ count: 2 });
    const [gone] = await bury({ jobType: 'gone' });

    const some = await redrive(a!, b!, gone!, '999999999');
    const missing = await redrive('999999999', '999999998');

    expect(some).toMatchObject({ code: 1, answer: { moved: 2, skipped: 2 } });
    expect(some.stderr).toContain(`error: job ${gone} has no handler: deploy gone\n`);
    expect(some.stderr).toContain('error: job 999999999 does not exist\n');
    expect(missing).toMatchObject({ code: 3, answer: { moved: 0, skipped: 2 } });
  });
});

it('DLQ-03: twenty jobs redriven twice at once and a third time run once, and the reasons are printed', async () => {
  const ids = await bury({ count: 20 });

  const ended = await Promise.all([1, 2].map(() => startCli(['redrive', '--yes', '--json', ...ids], { env }).ended));
  const both = ended.map(({ stdout }) => JSON.parse(stdout));
  const third = await redrive(...ids);

  expect(both.map(({ moved }) => moved).reduce((sum, moved) => sum + moved, 0)).toBe(20);
  for (const { moved, skipped } of both) expect(moved + skipped).toBe(20);
  expect(third).toMatchObject({ code: 5, answer: { moved: 0, skipped: 20 } });
  expect(third.answer.skipped_jobs[0]).toMatchObject({ reason: 'is pending, not dead' });
  const { rows } = await pool.query(`select from millrace.job_attempts where outcome = 'redriven'`);
  expect(rows).toHaveLength(20);
});

it('CLI-01: a command exits with 7 when the database is down, and prints nothing to standard output', async () => {
  const away = 'postgres://u:p@127.0.0.1:1/db';
  const dlq = [[], ['list'], ['show', '1'], ['discard', '1', '--yes'], ['export', '--all']];
  const commands = [...dlq.map((args) => ['dlq', ...args]), ['redrive', '1', '--yes'], ['jobs', 'retry', '1']];

  const answers = await Promise.all(commands.map((args) => run(...args, '--json', '--database-url', away)));

  for (const answer of answers) {
    expect(answer).toEqual({
      code: 7,
      stdout: '',
      stderr: 'error: cannot reach 127.0.0.1:1/db: connection refused\n',
    });
  }
});
