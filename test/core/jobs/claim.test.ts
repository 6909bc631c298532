import fc from 'fast-check';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { claim } from '../../../core/jobs/claim.ts';
import { deploy, insertJobs, markRunning, openEngine, queueOf, shiftClock } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

beforeEach(async () => {
  await pool.query('delete from millrace.jobs_live; delete from millrace.dispatches; delete from millrace.handlers');
  await shiftClock(pool, 0);
});

const read = async (id: string) => (await pool.query('select * from millrace.jobs_live where id = $1', [id])).rows[0];

it('a claim stores the claim number and a lease, and clears an earlier delivery', async () => {
  await deploy(db, { jobType: 'mail', timeout: 30 });
  const [id] = await insertJobs(pool, 'mail', 1);
  await pool.query(`update millrace.jobs_live set message_id = 'old', message_sent_at = now(), request_id = 'old'`);

  const jobs = await claim(db, 10);

  const row = await read(id!);
  expect(jobs).toMatchObject([
    { id, claimNo: row.claim_no, jobType: 'mail', routingKey: '', queueUrl: queueOf('mail'), groupKey: null },
  ]);
  expect(row).toMatchObject({ status: 'dispatched', attempts: 0, message_id: null, message_sent_at: null });
  expect(row).toMatchObject({ request_id: null, due_at: null, in_flight: true });
  expect(row.lease_expires_at > row.dispatched_at).toBe(true);
  const { rows } = await pool.query('select claim_no, claimed_count, sent_at from millrace.dispatches');
  expect(rows).toEqual([{ claim_no: row.claim_no, claimed_count: 1, sent_at: null }]);
});

it('a claim without due jobs writes no dispatch', async () => {
  await deploy(db, { jobType: 'mail' });

  const jobs = await claim(db, 10);

  const { rows } = await pool.query('select * from millrace.dispatches');
  expect([jobs, rows]).toEqual([[], []]);
});

it('claims the first jobs by priority, due time and id across handlers, or by due time and id alone', async () => {
  await deploy(db, { jobType: 'a' }, { jobType: 'b' }, { jobType: 'b', routingKey: 'k' });
  const job = fc.record({
    address: fc.constantFrom(['a', ''], ['b', ''], ['b', 'k']),
    priority: fc.integer({ min: 0, max: 9 }),
    age: fc.integer({ min: 1, max: 4 }),
    status: fc.constantFrom('pending', 'failed'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(job, { minLength: 1, maxLength: 25 }),
      fc.integer({ min: 1, max: 30 }),
      fc.boolean(),
      async (all, limit, byAge) => {
        await pool.query('delete from millrace.jobs_live');
        const { rows } = await pool.query<{ id: string; priority: number; due_at: Date }>(
          `insert into millrace.jobs_live (job_type, routing_key, priority, status, run_at, next_retry_at, max_attempts)
           select i->'address'->>0, i->'address'->>1, (i->>'priority')::int, i->>'status', due, due, 1
             from jsonb_array_elements($1::jsonb) i,
                  lateral (select timestamptz '2020-01-01' - make_interval(secs => (i->>'age')::int) as due) d
           returning id, priority, due_at`,
          [JSON.stringify(all)],
        );
        const rank = ({ priority }: { priority: number }) => (byAge ? 0 : priority);
        const expected = rows
          .toSorted((x, y) => rank(x) - rank(y) || +x.due_at - +y.due_at || Number(x.id) - Number(y.id))
          .slice(0, limit);

        const jobs = await claim(db, limit, { random: () => (byAge ? 0.09 : 0.1) });

        expect(jobs.map(({ id }) => id).toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
        const placeOf = new Map(rows.map(({ id, priority, due_at }) => [id, [priority, +due_at, Number(id)] as const]));
        for (const [handler, own] of Map.groupBy(jobs, ({ jobType, routingKey }) => `${jobType}.${routingKey}`)) {
          const places = own.map(({ id }) => placeOf.get(id) as readonly [number, number, number]);
          const ordered = places.toSorted((x, y) => x[0] - y[0] || x[1] - y[1] || x[2] - y[2]);
          expect([handler, ...places]).toEqual([handler, ...ordered]);
        }
      },
    ),
    { numRuns: 25 },
  );
});

it('claims no jobs that are paused, held, not due, just refused, or of an unknown type', async () => {
  await deploy(db, { jobType: 'paused' }, { jobType: 'held' }, { jobType: 'open' });
  await pool.query(`update millrace.handlers set paused_at = now() where job_type = 'paused'`);
  await pool.query(`update millrace.handlers set held_until = now() + interval '1 hour' where job_type = 'held'`);
  for (const type of ['paused', 'held', 'unknown']) await insertJobs(pool, type, 2);
  const inserted = await pool.query<{ id: string }>(
    `insert into millrace.jobs_live (job_type, status, run_at, next_retry_at, hold_until, max_attempts, routing_key)
       values ('open', 'pending', now() + interval '1 minute', null, null, 5, ''),
              ('open', 'pending', now() - interval '1 minute', null, now() + interval '1 minute', 5, ''),
              ('open', 'failed', now() - interval '1 minute', now() + interval '1 minute', null, 5, ''),
              ('open', 'dead_letter', now() - interval '1 minute', null, null, 5, ''),
              ('open', 'pending', now() - interval '1 minute', null, null, 5, 'unknown_key') returning id`,
  );

  const now = await claim(db, 100);
  await shiftClock(pool, 90);
  const later = await claim(db, 100);

  expect(now).toEqual([]);
  expect(later.map(({ id }) => id).sort()).toEqual(
    inserted.rows
      .slice(0, 3)
      .map(({ id }) => id)
      .sort(),
  );
});

it('claims jobs of a handler again after its hold', async () => {
  await deploy(db, { jobType: 'held' });
  await pool.query(`update millrace.handlers set held_until = now() + interval '1 minute'`);
  const ids = await insertJobs(pool, 'held', 2);
  await shiftClock(pool, 61);

  const jobs = await claim(db, 100);

  expect(jobs.map(({ id }) => id)).toEqual(ids);
});

it('claims a failed job whose max_attempts was lowered below its attempts', async () => {
  await deploy(db, { jobType: 'mail' });
  const [id] = await insertJobs(pool, 'mail', 1);
  await pool.query(
    `update millrace.jobs_live set status = 'failed', next_retry_at = now() - interval '1 s', attempts = 9,
       max_attempts = 2, claim_no = 1`,
  );

  const jobs = await claim(db, 100);

  expect(jobs.map((job) => job.id)).toEqual([id]);
  expect(await read(id!)).toMatchObject({ status: 'dispatched', attempts: 9, due_at: null });
});

it('claims up to max_in_flight, which includes running jobs', async () => {
  await deploy(db, { jobType: 'mail', maxInFlight: 7 });
  await insertJobs(pool, 'mail', 30);

  const first = await claim(db, 3);
  await markRunning(
    pool,
    first.map(({ id }) => id),
  );
  const second = await claim(db, 100);
  const third = await claim(db, 100);

  expect([first.length, second.length, third.length]).toEqual([3, 4, 0]);
});
