import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createClient } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { runCli } from '../run-cli.ts';
import { startCli } from '../start-cli.ts';
import { openDeadLetters } from './dead-letters.ts';

const { run, bury, stray, statusOf, pool, operator, env } = await openDeadLetters();

describe('CLI-01: dlq discard', () => {
  it('discards what matches and leaves the rest', async () => {
    const [a, b] = await bury({ count: 2 });
    const [c] = await bury({ jobType: 'other' });

    const { code, stdout, stderr } = await run('dlq', 'discard', '--job-type', 'mail', '--yes', '--json');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ discarded: 2, left: [], skipped: [] });
    expect(await Promise.all([a!, b!, c!].map(statusOf))).toEqual(['cancelled', 'cancelled', 'dead_letter']);
    const { rows } = await pool.query(
      `select distinct resolved_by from millrace.dead_letters where status = 'discarded'`,
    );
    expect(rows).toEqual([{ resolved_by: operator.name }]);
  });

  it('discards more than a thousand dead letters, including strays', async () => {
    await bury({ count: 1500 });
    await stray();

    const { code, stdout } = await run('dlq', 'discard', '--all', '--yes');

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'discarded\t1501\n' });
    const { rows } = await pool.query(`select from millrace.dead_letters where status = 'open'`);
    expect(rows).toEqual([]);
  });

  it.each([
    [['--error', "it's boom"], String.raw`--error 'it'\''s boom'`],
    [['--job-type', 'mail', '--until', '2100-01-31'], '--job-type mail --until 2100-01-31T00:00:00.000Z'],
    [['--all'], '--all'],
  ])('suggests an export of the same dead letters before it discards any: %j', async (flags, shown) => {
    await bury({ error: "it's boom" });

    const args = ['dlq', 'discard', ...flags, '--dry-run'];
    const { stderr } = await runCli(args, { env, terminal: true });

    expect(stripVTControlCharacters(stderr)).toContain(
      `To keep a copy, first run: npx millrace dlq export ${shown} > dead.jsonl\n`,
    );
  });

  it('shows what it would discard with --dry-run, and discards nothing', async () => {
    const [id] = await bury();

    const { code, stdout } = await run('dlq', 'discard', '--all', '--dry-run', '--json');

    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ dry_run: true, matched: 1, groups: [{ jobs: 1, error: 'boom' }] });
    expect(await statusOf(id!)).toBe('dead_letter');
  });

  it('does nothing without a confirmation or without a filter', async () => {
    const [id] = await bury();

    const [unconfirmed, unnamed, both] = await Promise.all([
      run('dlq', 'discard', id!, '--json'),
      run('dlq', 'discard', '--yes', '--json'),
      run('dlq', 'discard', id!, '--all', '--yes'),
    ]);

    expect(unconfirmed).toMatchObject({ code: 6, stdout: '', stderr: expect.stringContaining('confirm with --yes') });
    expect(unnamed).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--all for every one') });
    expect(both).toMatchObject({ code: 2, stdout: '' });
    expect(await statusOf(id!)).toBe('dead_letter');
  });

  it('explains why named jobs are left', async () => {
    const [dead, held] = await bury({ count: 2 });
    const client = await createClient(pool.options.connectionString!);
    await client.query('begin');
    await client.query('select from millrace.jobs_live where id = $1 for update', [held]);

    const { code, stdout, stderr } = await run('dlq', 'discard', dead!, held!, '999999999', '--yes', '--json');

    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      discarded: 1,
      left: [held],
      skipped: [{ id: '999999999', reason: 'does not exist' }],
    });
    expect(stderr).toContain(`error: job ${held} is locked by another transaction and was not discarded\n`);
    expect(stderr).toContain('error: job 999999999 does not exist\n');
  });

  it('exits with 3 when nothing matches', async () => {
    const [filter, id] = await Promise.all([
      run('dlq', 'discard', '--job-type', 'mail', '--yes', '--json'),
      run('dlq', 'discard', '999999999', '--yes', '--json'),
    ]);

    expect(filter).toMatchObject({ code: 3, stderr: 'error: no dead letter matches\n' });
    expect(id).toMatchObject({ code: 3, stderr: 'error: job 999999999 does not exist\n' });
  });

  it('exits with 5 when none of several jobs can be discarded', async () => {
    const [id] = await bury();
    await run('dlq', 'discard', id!, '--yes');

    const { code, stderr } = await run('dlq', 'discard', id!, '999999999', '--yes');

    expect(code).toBe(5);
    expect(stderr).toContain(`error: job ${id} is already cancelled`);
    expect(stderr).toContain('error: job 999999999 does not exist');
  });

  it('stops at Ctrl-C and reports how many were discarded', async () => {
    await stray();
    await bury({ count: 1500 });
    const client = await createClient(pool.options.connectionString!);
    await client.query('begin');
    await client.query('select from millrace.dead_letters where job_id is null for update');
    const { process: child, ended } = startCli(['dlq', 'discard', '--all', '--yes', '--json'], { env });
    await eventually(
      async () => {
        const { rows } = await pool.query(
          `select from pg_stat_activity where application_name = 'millrace-cli' and wait_event_type = 'Lock' and datname = current_database()`,
        );
        expect(rows).toHaveLength(1);
      },
      { timeout: 60_000 },
    );
    const stopping = once(child.stderr, 'data');
    child.kill('SIGINT');
    await stopping;
    await client.query('rollback');

    const { code, stdout, stderr } = await ended;

    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 130, discarded: 1000 });
    expect(stderr).toContain('stopping; press Ctrl-C again to exit at once');
    expect(stderr).toContain('interrupted: discarded 1000 of 1,501 dead letters; these cannot be restored');
  });

  it('discards one stray', async () => {
    const [first, second] = [await stray(), await stray()];

    const done = await run('dlq', 'discard', '--stray', first, '--yes', '--json');
    const again = await run('dlq', 'discard', '--stray', first, '--yes', '--json');
    const more = await run('dlq', 'discard', '--stray', second, '--all', '--yes', '--json');

    expect([done.code, more.code]).toEqual([0, 2]);
    expect(done.stderr).toContain('the mirror deletes its message within a minute: start a move task after that');
    expect(again).toEqual({
      code: 3,
      stdout: '',
      stderr: `error: stray ${first} does not exist or is no longer open\n`,
    });
    const { rows } = await pool.query(`select id::text from millrace.dead_letters where status = 'open'`);
    expect(rows).toEqual([{ id: second }]);
  });
});
