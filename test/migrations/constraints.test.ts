import { afterAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../support/database.ts';

const { pool, drop } = await createDatabase();
afterAll(drop);

const TIMES = { run_at: '2026-01-01' };
const CLAIM = { claim_no: 1, lease_expires_at: '2026-01-02' };
const START = { ...CLAIM, started_at: '2026-01-01' };
const END = { slot: 3, finished_at: '2026-01-03' };

/** The columns of each status; a row without one of `needs` or with one of `bars` must be refused. */
const STATUSES: Record<string, { needs: Record<string, unknown>; bars: Record<string, unknown> }> = {
  pending: { needs: {}, bars: { lease_expires_at: '2026-01-02', ...END } },
  failed: { needs: { next_retry_at: '2026-01-04' }, bars: { lease_expires_at: '2026-01-02', ...END } },
  dispatched: { needs: CLAIM, bars: END },
  running: { needs: START, bars: END },
  dead_letter: { needs: {}, bars: { lease_expires_at: '2026-01-02', ...END } },
  succeeded: { needs: END, bars: { lease_expires_at: '2026-01-02' } },
  skipped: { needs: END, bars: { lease_expires_at: '2026-01-02' } },
  cancelled: { needs: END, bars: { lease_expires_at: '2026-01-02' } },
};

async function insert(status: string, values: Record<string, unknown>): Promise<string> {
  const all: Record<string, unknown> = { job_type: 'mail', status, max_attempts: 5, ...TIMES, ...values };
  const columns = Object.keys(all);
  // An insert into millrace.jobs has no status.
  const table = 'slot' in all ? 'jobs_finished' : 'jobs_live';
  const sql = `insert into millrace.${table} (${columns}) values (${columns.map((_, n) => `$${n + 1}`)})`;
  return pool.query(sql, Object.values(all)).then(
    () => 'ok',
    (error: { code: string }) => error.code,
  );
}

const without = (values: Record<string, unknown>, name: string) =>
  Object.fromEntries(Object.entries(values).filter(([key]) => key !== name));

describe.each(Object.entries(STATUSES))('a job that is %s', (status, { needs, bars }) => {
  it('is stored with all its required columns', async () => {
    expect(await insert(status, needs)).toBe('ok');
  });

  it.each(Object.keys(needs))('is refused without %s', async (name) => {
    expect(await insert(status, without(needs, name))).toBe('23514');
  });

  it.each(Object.keys(bars))('is refused with %s', async (name) => {
    expect(await insert(status, { ...needs, [name]: bars[name] })).toBe('23514');
  });
});

it.each([
  ['an unknown status', 'retrying', {}],
  ['an infinite wait', 'failed', { next_retry_at: 'infinity' }],
  ['a death after an attempt without its claim', 'dead_letter', { attempts: 1 }],
  ['a slot that does not exist', 'succeeded', { slot: 33, finished_at: '2026-01-03' }],
])('the table of jobs refuses %s', async (_what, status, values) => {
  expect(await insert(status, values)).toBe('23514');
});

it('computes the due time of a job from its status and its own columns', async () => {
  await pool.query('delete from millrace.jobs_live');
  await insert('pending', { next_retry_at: '2026-03-03' });
  await insert('pending', { hold_until: '2026-02-02' });
  await insert('pending', { hold_until: '2025-02-02' });
  await insert('failed', { next_retry_at: '2026-03-03', hold_until: '2026-04-04' });
  await insert('dispatched', CLAIM);
  await insert('running', START);
  await insert('dead_letter', {});

  const { rows } = await pool.query(
    `select status, to_char(due_at at time zone current_setting('TimeZone'), 'YYYY-MM-DD') as due, in_flight
       from millrace.jobs_live order by id`,
  );

  expect(rows).toEqual([
    { status: 'pending', due: '2026-01-01', in_flight: false },
    { status: 'pending', due: '2026-02-02', in_flight: false },
    { status: 'pending', due: '2026-01-01', in_flight: false },
    { status: 'failed', due: '2026-03-03', in_flight: false },
    { status: 'dispatched', due: null, in_flight: true },
    { status: 'running', due: null, in_flight: true },
    { status: 'dead_letter', due: null, in_flight: false },
  ]);
});

it('allows at most one open dead letter for each job, and a body only without a job', async () => {
  await pool.query('insert into millrace.dead_letters (job_id) values (1)');

  await expect(pool.query('insert into millrace.dead_letters (job_id) values (1)')).rejects.toThrow('one_open_a_job');
  await expect(
    pool.query(`insert into millrace.dead_letters (job_id, raw_body) values (2, 'x')`),
  ).rejects.toMatchObject({ code: '23514' });
  await expect(
    pool.query(`insert into millrace.dead_letters (job_id, status) values (1, 'redriven')`),
  ).rejects.toMatchObject({ code: '23514' });
  await pool.query(`insert into millrace.dead_letters (raw_body) values ('x'), ('x')`);
  await pool.query(`insert into millrace.dead_letters (job_id, status, resolved_at) values (1, 'redriven', now())`);
});
