import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancel } from '../../../core/jobs/cancel.ts';
import type { JobFilter } from '../../../core/look/job-filter.ts';
import { listJobs } from '../../../core/look/page-jobs.ts';
import { showJob } from '../../../core/look/show-job.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
const db = {
  query: async <Row>(text: string, values: readonly unknown[] = []) => {
    const { rows, rowCount } = await database.pool.query(text, [...values]);
    return { rows: rows as Row[], rowCount: rowCount ?? 0 };
  },
};

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query('truncate millrace.jobs, millrace.handlers, millrace.job_attempts');
});

async function insert(columns: Record<string, unknown> = {}): Promise<string> {
  const row: Record<string, unknown> = { job_type: 'a', ...columns };
  const marks = Object.keys(row).map((_, index) => `$${index + 1}`);
  const { rows } = await database.pool.query(
    `insert into millrace.jobs (${Object.keys(row)}) values (${marks}) returning id`,
    Object.values(row),
  );
  return rows[0].id;
}

async function register(columns = ''): Promise<void> {
  await database.pool.query(`
    insert into millrace.handlers (job_type, queue_url, dead_letter_queue_url, function_name, timeout_seconds,
        running_lease_seconds, dispatched_lease_seconds, visibility_seconds, max_attempts, retry_policy, concurrency,
        batch_size, max_in_flight, max_in_flight_floor, max_in_flight_cap)
      values ('a', 'q', 'd', 'f', 30, 60, 60, 60, 3, '{}', 1, 1, 1, 1, 1)`);
  if (columns) await database.pool.query(`update millrace.handlers set ${columns}`);
}

async function ids(filter: Partial<JobFilter>, limit = 100): Promise<string[]> {
  const jobs = await listJobs(db, { statuses: [], jobTypes: [], ...filter }, limit);
  return jobs.map(({ id }) => id);
}

describe('listJobs', () => {
  it('returns unfinished and finished jobs, the newest first', async () => {
    const [a, b, c] = [await insert(), await insert({ job_type: 'b' }), await insert()];
    await cancel(db, b);

    const found = await ids({});

    expect(found).toEqual([c, b, a]);
  });

  it('filters by statuses, job types and limit', async () => {
    const [a, b, c] = [await insert(), await insert({ job_type: 'b' }), await insert()];
    await cancel(db, a);

    expect(await ids({ statuses: ['cancelled'] })).toEqual([a]);
    expect(await ids({ statuses: ['pending'] })).toEqual([c, b]);
    expect(await ids({ statuses: ['pending', 'cancelled'], jobTypes: ['a'] })).toEqual([c, a]);
    expect(await ids({ jobTypes: ['a', 'b'] }, 2)).toEqual([c, b]);
    expect(await ids({ statuses: ['dead_letter'] })).toEqual([]);
  });

  it('filters by a time or a duration', async () => {
    const old = await insert();
    await database.pool.query(`update millrace.jobs_live set created_at = millrace.clock() - interval '2 hours'`);
    const fresh = await insert();

    expect(await ids({ createdFrom: '1h' })).toEqual([fresh]);
    expect(await ids({ createdFrom: '3h' })).toEqual([fresh, old]);
    expect(await ids({ createdFrom: new Date(Date.now() - 3_600_000) })).toEqual([fresh]);
  });

  it('reads no partition that cannot contain the status', async () => {
    await insert();
    const { rows } = await database.pool.query(
      `explain select id from millrace.jobs where slot = any('{0}'::smallint[]) order by id desc limit 5`,
    );

    expect(JSON.stringify(rows)).toContain('jobs_live');
    expect(JSON.stringify(rows)).not.toContain('jobs_finished');
  });
});

describe('showJob', () => {
  it('returns every digit of the payload', async () => {
    const id = await insert({ payload: '{"n":9007199254740993,"e":1e400,"p":1.10}' });

    const shown = await showJob(db, id);

    expect(shown?.job.payload).toBe(`{"e": 1${'0'.repeat(400)}, "n": 9007199254740993, "p": 1.10}`);
  });

  it('returns the attempts, the newest first', async () => {
    const id = await insert();
    await database.pool.query(
      `insert into millrace.job_attempts (job_id, attempt, outcome, error_name, error_message, delay_seconds)
         values ($1, 1, 'failed', 'SmtpError', 'refused', 60), ($1, 2, 'dead_letter', 'SmtpError', 'again', null)`,
      [id],
    );

    const shown = await showJob(db, id);

    expect(shown?.attempts).toMatchObject([
      { attempt: 2, outcome: 'dead_letter', errorMessage: 'again', delaySeconds: null },
      { attempt: 1, outcome: 'failed', errorName: 'SmtpError', errorMessage: 'refused', delaySeconds: 60 },
    ]);
  });

  it('returns a finished job, and undefined for a missing one', async () => {
    const id = await insert();
    await cancel(db, id);

    expect(await showJob(db, id)).toMatchObject({ job: { status: 'cancelled' }, waiting: null });
    expect(await showJob(db, '999999999')).toBeUndefined();
  });
});

describe('why a job waits', () => {
  const waiting = async (id: string) => (await showJob(db, id))?.waiting;
  const lastRound = (ago: string | null) =>
    database.pool.query(`update millrace.dispatcher_runs set last_round_at = millrace.clock() - $1::interval`, [ago]);

  it('is that no handler is registered', async () => {
    const id = await insert({ routing_key: 'k' });

    expect(await waiting(id)).toMatch(/^no handler for a\.k is registered/);
  });

  it('is that it is not due', async () => {
    await register();
    const id = await insert({ run_at: '2100-01-01T00:00:00Z' });

    expect(await waiting(id)).toBe('it is not due before 2100-01-01T00:00:00.000Z');
  });

  it('is that its handler is paused', async () => {
    await register(`paused_at = '2026-01-01T00:00:00Z'`);
    const id = await insert();

    expect(await waiting(id)).toBe('its handler a has been paused since 2026-01-01T00:00:00.000Z');
  });

  it('is that its handler is held', async () => {
    await register(`held_until = '2100-01-01T00:00:00Z', hold_reason = 'no such queue'`);
    const id = await insert();

    expect(await waiting(id)).toBe('its handler a is held until 2100-01-01T00:00:00.000Z: no such queue');
  });

  it('is that no dispatcher ever ran, or none has run for minutes', async () => {
    await register();
    const id = await insert();

    await lastRound(null);
    expect(await waiting(id)).toBe('it is due, but no dispatcher has ever run on this database');
    await lastRound('10 minutes');
    expect(await waiting(id)).toMatch(/^it is due, but no dispatcher has run since 20/);
  });

  it('is that its handler is at its maximum, or that the dispatcher has not claimed it yet', async () => {
    await register();
    await lastRound('1 second');
    const first = await insert();
    const second = await insert();

    expect(await waiting(second)).toBe('it is due, and the dispatcher claims it when its turn comes');
    await database.pool.query(
      `update millrace.jobs_live set status = 'dispatched', claim_no = 1, lease_expires_at = millrace.clock(),
         dispatched_at = millrace.clock() where id = $1`,
      [first],
    );
    expect(await waiting(second)).toBe('it is due, but 1 jobs of a are in flight, which is the maximum');
    expect(await waiting(first)).toMatch(/^its message has been in the queue of a since /);
    await cancel(db, first);
    expect(await waiting(first)).toMatch(/; its cancellation is requested$/);
  });

  it('is the next attempt, and for a dead job that no attempt follows', async () => {
    await register();
    const id = await insert();
    await database.pool.query(
      `update millrace.jobs_live set status = 'failed', attempts = 1, next_retry_at = '2100-01-01T00:00:00Z'`,
    );

    expect(await waiting(id)).toBe('attempt 1 of 3 failed; the next one starts after 2100-01-01T00:00:00.000Z');
    await database.pool.query(`update millrace.jobs_live set status = 'dead_letter', claim_no = 1`);
    expect(await waiting(id)).toBe(
      `it is dead and does not run again until it is retried: npx millrace jobs retry ${id}`,
    );
  });
});
