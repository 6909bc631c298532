import { describe, expect, it } from 'vitest';
import { applyCancelRequests } from '../../core/jobs/cancel.ts';
import { createClient } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { jobIn } from './job-in.ts';
import { openOperator } from './operator.ts';

const { engine, ask, job, letters, login } = await openOperator();
const { pool, db } = engine;
const retry = (id: string) => ask('select millrace.retry($1)', id);

describe('failed_jobs', () => {
  it('shows open dead letters in the classic columns', async () => {
    const id = await jobIn(engine, 'dead_letter');
    await pool.query(`insert into millrace.dead_letters (raw_body, last_error) values ('{{', 'unreadable')`);

    const { rows } = await pool.query('select * from millrace.failed_jobs order by id');

    expect(rows).toMatchObject([
      { job_id: id, job_type: 'mail', status: 'dead_letter', attempts: 1, max_attempts: 5, last_error: 'boom' },
      { job_id: null, status: 'dead_letter', last_error: 'unreadable', input_data: '{{' },
    ]);
    const columns = ['id', 'job_id', 'job_type', 'status', 'attempts', 'max_attempts', 'last_error'];
    const more = ['error_stacktrace', 'input_data', 'created_at', 'updated_at', 'job_created_at'];
    expect(Object.keys(rows[0])).toEqual([...columns, ...more]);
    expect(rows[0]).toMatchObject({ error_stacktrace: 'at x', input_data: {} });
  });

  it('dates a row by the death of the job, not by its insertion', async () => {
    const old = await jobIn(engine, 'dead_letter');
    const dead = await jobIn(engine, 'dead_letter');
    await pool.query(`update millrace.jobs_live set created_at = now() - interval '40 days'`);
    await pool.query(`update millrace.dead_letters set died_at = now() - interval '31 days' where job_id = $1`, [old]);
    await pool.query(`insert into millrace.dead_letters (raw_body) values ('{{')`);
    const rows = async (condition: string) =>
      (await pool.query(`select job_id from millrace.failed_jobs where ${condition} order by id`)).rows;

    for (const column of ['created_at', 'updated_at']) {
      expect(await rows(`${column} > now() - interval '1 hour'`)).toEqual([{ job_id: dead }, { job_id: null }]);
      expect(await rows(`${column} < now() - interval '30 days'`)).toEqual([{ job_id: old }]);
    }
    expect(await rows(`job_created_at < now() - interval '39 days'`)).toEqual([{ job_id: old }, { job_id: dead }]);

    await pool.query(`delete from millrace.failed_jobs where created_at < now() - interval '30 days'`);

    expect([(await job(old)).status, (await job(dead)).status]).toEqual(['cancelled', 'dead_letter']);
  });

  it('reads the failures of the last hour with an index', async () => {
    await pool.query(
      `insert into millrace.dead_letters (raw_body, died_at)
         select '{{', now() - interval '1 day' * (1 + n % 80) from generate_series(1, 20000) n`,
    );
    await pool.query('analyze millrace.dead_letters');

    for (const column of ['created_at', 'updated_at']) {
      const { rows } = await pool.query(
        `explain select * from millrace.failed_jobs where ${column} > now() - interval '1 hour'`,
      );

      expect(JSON.stringify(rows)).toContain('dead_letters_open_died');
    }
  });

  it('discards the deleted rows', async () => {
    const id = await jobIn(engine, 'dead_letter');
    await pool.query(`insert into millrace.dead_letters (raw_body) values ('{{')`);
    const client = await createClient(login.url);

    const { rowCount } = await client.query('delete from millrace.failed_jobs');

    expect(rowCount).toBe(2);
    expect((await job(id)).status).toBe('cancelled');
    expect((await letters()).map(({ status, resolved_by }) => [status, resolved_by])).toEqual([
      ['discarded', login.name],
      ['discarded', login.name],
    ]);
    expect((await pool.query('select * from millrace.failed_jobs')).rows).toEqual([]);
  });

  it('writes one audit event for every job and every stray', async () => {
    const id = await jobIn(engine, 'dead_letter');
    const insert = `insert into millrace.dead_letters (raw_body) values ('{{') returning id`;
    const strays = [(await pool.query(insert)).rows[0].id, (await pool.query(insert)).rows[0].id];
    await pool.query('delete from millrace.audit_log');
    const client = await createClient(login.url);

    await client.query('delete from millrace.failed_jobs where id = $1', [strays[0]]);
    await client.query('delete from millrace.failed_jobs');
    await client.query('delete from millrace.failed_jobs');

    const { rows } = await pool.query(
      'select actor, action, job_id, details from millrace.audit_log order by job_id, id',
    );
    const discard = { actor: login.name, action: 'discard' };
    expect(rows).toEqual([
      { ...discard, job_id: id, details: {} },
      { ...discard, job_id: null, details: { dead_letter: strays[0] } },
      { ...discard, job_id: null, details: { dead_letter: strays[1] } },
    ]);
  });

  it('writes no audit event for a stray that another transaction has already discarded', async () => {
    const { rows } = await pool.query(`insert into millrace.dead_letters (raw_body) values ('{{') returning id`);
    await pool.query('delete from millrace.audit_log');
    const first = await createClient(engine.test.url);
    await first.query('begin');
    await first.query('delete from millrace.failed_jobs');

    const second = pool.query('delete from millrace.failed_jobs where id = $1', [rows[0].id]);
    await eventually(async () => {
      const waiting = await engine.pool.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      expect(waiting.rows.length).toBeGreaterThan(0);
    });
    await first.query('commit');

    expect((await second).rowCount).toBe(0);
    expect((await pool.query('select from millrace.audit_log')).rowCount).toBe(1);
  });

  it('skips a job that another transaction is redriving, and stores no cancel request for it', async () => {
    const id = await jobIn(engine, 'dead_letter');
    const redriving = await createClient(engine.test.url);
    await redriving.query('begin');
    await redriving.query('select millrace.retry($1)', [id]);

    const { rowCount } = await pool.query('delete from millrace.failed_jobs');
    await redriving.query('commit');
    await applyCancelRequests(db, 100);

    expect(rowCount).toBe(0);
    expect((await job(id)).status).toBe('pending');
  });

  it('skips a job that was redriven after the delete statement began', async () => {
    const id = await jobIn(engine, 'dead_letter');
    const deleting = await createClient(engine.test.url);
    await deleting.query('begin isolation level repeatable read');
    await deleting.query('select from millrace.failed_jobs');
    await retry(id);

    const outcome = await deleting.query('delete from millrace.failed_jobs').then(
      ({ rowCount }) => rowCount,
      (error: { code: string }) => error.code,
    );
    await deleting.query('rollback');

    expect(['40001', 0]).toContain(outcome);
    expect((await job(id)).status).toBe('pending');
  });
});
