import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { runCli } from '../run-cli.ts';
import { startCli } from '../start-cli.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const run = (...args: string[]) => runCli(args, { env: { DATABASE_URL: database.url } });

async function insert(jobType = 'a'): Promise<string> {
  const { rows } = await database.pool.query('insert into millrace.jobs (job_type) values ($1) returning id', [
    jobType,
  ]);
  return rows[0].id;
}

describe('CLI-01: jobs list', () => {
  it('prints one line per job to a pipe, without colours, and nothing else', async () => {
    const id = await insert('list_lines');

    const { code, stdout, stderr } = await run('jobs', 'list', '--job-type', 'list_lines');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^${id}\tlist_lines\tpending\t0/5\t[^\t]+\t[^\t]+\t\n$`));
  });

  it('prints one document with --json', async () => {
    const id = await insert('list_json');

    const { code, stdout, stderr } = await run('--json', 'jobs', 'list', '--job-type', 'list_json,b', '--since', '1h');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      items: [{ id, job_type: 'list_json', status: 'pending', attempts: 0 }],
    });
  });

  it('succeeds when nothing matches, and reports it on standard error only', async () => {
    const [plain, json] = await Promise.all([
      run('jobs', 'list', '--status', 'dead_letter'),
      run('jobs', 'list', '--status', 'dead_letter', '--json'),
    ]);

    expect(plain).toEqual({ code: 0, stdout: '', stderr: 'no job matches\n' });
    expect(json).toEqual({ code: 0, stdout: '{"items":[]}\n', stderr: '' });
  });

  it('names the time that --since compares when nothing matches', async () => {
    const { stderr } = await run('jobs', 'list', '--status', 'dead_letter', '--since', '1h');

    expect(stderr).toBe('no job that was created at the given time or later matches\n');
  });

  it.each([
    [['--status', 'dead'], 'Expected one of pending, dispatched'],
    [['--limit', '0'], 'Expected a whole number from 1 to 10000.'],
    [['--since', 'yesterday'], 'Expected a duration'],
    [['--job-type', 'A'], 'Expected lower-case letters'],
    [['--bogus'], "unknown option '--bogus'"],
  ])('rejects %j with exit code 2 and what was expected', async (options, sentence) => {
    const { code, stdout, stderr } = await run('jobs', 'list', ...options, '--json');

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  it('ends quietly when its reader closes the pipe', async () => {
    const { process: child, ended } = startCli(['jobs', 'list'], { env: { DATABASE_URL: database.url } });
    child.stdout.destroy();

    expect(await ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('CLI-01: jobs show', () => {
  it('prints a job, in lines and in JSON', async () => {
    const id = await insert('show_me');

    const [plain, json] = await Promise.all([run('jobs', 'show', id), run('jobs', 'show', id, '--json')]);

    expect(plain).toMatchObject({ code: 0, stderr: '' });
    expect(plain.stdout).toContain(
      `id\t${id}\nhandler\tshow_me\nstatus\tpending\nattempts\t0 of 5\nwaiting\tno handler for`,
    );
    expect(json).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(json.stdout)).toMatchObject({ id, job_type: 'show_me', payload: {}, attempt_history: [] });
  });

  it('distinguishes an invalid id from an unknown one', async () => {
    const [wrong, huge, missing] = await Promise.all([
      run('jobs', 'show', 'abc', '--json'),
      run('jobs', 'show', '9223372036854775808', '--json'),
      run('jobs', 'show', '9223372036854775807', '--json'),
    ]);

    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain('Expected the id of a job, a whole number such as 42.');
    expect(huge).toMatchObject({ code: 2, stdout: '' });
    expect(missing).toMatchObject({ code: 3, stdout: '' });
    expect(missing.stderr).toContain('job 9223372036854775807 does not exist');
  });
});

describe('CLI-01: jobs cancel', () => {
  it('cancels a job, and reports that it is cancelled the second time', async () => {
    const id = await insert();

    const first = await run('jobs', 'cancel', id);
    const second = await run('jobs', 'cancel', id, '--json');

    expect(first).toEqual({ code: 0, stdout: `${id}\tcancelled\n`, stderr: '' });
    expect(second).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(`error: job ${id} is already cancelled: cancelled by `),
    });
    expect(JSON.parse(second.stdout)).toEqual([{ id, answer: 'finished' }]);
  });

  it('exits with 3 for an unknown id, and with 1 when some of several fail', async () => {
    const [a, b] = [await insert(), await insert()];

    const missing = await run('jobs', 'cancel', '999999999');
    const some = await run('jobs', 'cancel', a, '999999999', b, '--yes', '--json');

    expect(missing).toMatchObject({ code: 3, stderr: 'error: job 999999999 does not exist\n' });
    expect(some.code).toBe(1);
    expect(JSON.parse(some.stdout).map(({ answer }: { answer: string }) => answer)).toEqual([
      'cancelled',
      'not_found',
      'cancelled',
    ]);
  });

  it('requires a confirmation for several jobs', async () => {
    const [a, b] = [await insert(), await insert()];

    const { code, stdout } = await run('jobs', 'cancel', a, b);

    expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
    const { rows } = await database.pool.query('select from millrace.jobs_live where id in ($1, $2)', [a, b]);
    expect(rows).toHaveLength(2);
  });
});

describe('CLI-01: millrace', () => {
  it('has its usage and examples in its help', async () => {
    const answers = await Promise.all([run('-h'), run('jobs', 'list', '--help'), run('help', 'enqueue')]);

    for (const { code, stdout, stderr } of answers) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^Usage: millrace .*\nExamples:\n {2}\$ npx millrace /s);
    }
  });

  it('exits with 2 without a command and for an unknown command', async () => {
    const answers = await Promise.all([run(), run('jobs'), run('bogus')]);

    for (const answer of answers) expect(answer).toMatchObject({ code: 2, stdout: '' });
  });

  it('exits with 130 when it is interrupted', async () => {
    const { process: child, ended } = startCli(['sql', 'select pg_sleep(30)'], { env: { DATABASE_URL: database.url } });
    await eventually(async () => {
      const { rows } = await database.pool.query(
        `select from pg_stat_activity where datname = current_database() and query = 'select pg_sleep(30)'`,
      );
      expect(rows).toHaveLength(1);
    });

    child.kill('SIGINT');

    expect(await ended).toMatchObject({ code: 130, stdout: '' });
  });
});

describe('migrate', () => {
  it('migrates an empty database, and reports the state of each migration', async () => {
    const empty = await createDatabase({ migrated: false });
    const migrate = (...args: string[]) => runCli(['migrate', ...args, '--database-url', empty.url]);

    const list = await runCli(['jobs', 'list', '--database-url', empty.url]);
    const before = await migrate('status', '--json');
    const first = await migrate();
    const again = await migrate('--json');
    const after = await migrate('status');
    await empty.drop();

    expect(list).toMatchObject({ code: 1, stderr: expect.stringContaining('npx millrace migrate') });
    expect(before.code).toBe(1);
    expect(JSON.parse(before.stdout)[0]).toEqual({ name: '0001_foundation', state: 'pending', applied_at: null });
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^0001_foundation\n0002_/) });
    expect(JSON.parse(again.stdout)).toEqual({ applied: [], ahead: [] });
    expect(after).toMatchObject({ code: 0, stdout: expect.stringMatching(/^0001_foundation\tapplied\t20/) });
  });
});
