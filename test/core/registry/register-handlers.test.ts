import { afterAll, expect, it } from 'vitest';
import { retry } from '../../../core/handler/retry-policy.ts';
import { createClient } from '../../support/database.ts';
import { deploy, insertJobs, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

const handlers = async () => (await pool.query('select * from millrace.handlers order by job_type, routing_key')).rows;

it('stores the settings of a definition', async () => {
  await deploy(db, {
    jobType: 'mail',
    timeout: 30,
    maxAttempts: 3,
    retry: retry.fixed('1m'),
    concurrency: 4,
    batch: { size: 5 },
  });

  const [row] = await handlers();

  expect(row).toMatchObject({
    job_type: 'mail',
    routing_key: '',
    timeout_seconds: 30,
    max_attempts: 3,
    concurrency: 4,
  });
  expect(row).toMatchObject({ batch_size: 5, max_in_flight: 40, max_in_flight_floor: 40, max_in_flight_cap: 200 });
  expect(row.retry_policy).toMatchObject({ kind: 'fixed', delay: 60 });
  expect(row.running_lease_seconds).toBeGreaterThan(30);
  expect(row.dispatched_lease_seconds).toBeGreaterThan((200 / 20) * 30);
});

it('keeps the pause, the hold and the adaptive limit, within the new bounds', async () => {
  await deploy(db, { jobType: 'mail', concurrency: 2, batch: { size: 5 }, maxInFlight: 200 });
  await pool.query(`update millrace.handlers set max_in_flight = 150, paused_at = now(),
    hold_reason = 'its queue does not exist',
    held_until = now() + interval '1 minute'`);

  await deploy(db, { jobType: 'mail', concurrency: 2, batch: { size: 5 }, maxInFlight: 180, timeout: 60 });
  const [kept] = await handlers();
  await deploy(db, { jobType: 'mail', concurrency: 2, batch: { size: 5 }, maxInFlight: 100 });
  const [capped] = await handlers();
  await deploy(db, { jobType: 'mail', concurrency: 60, batch: { size: 5 }, maxInFlight: 1000 });
  const [raised] = await handlers();

  expect(kept).toMatchObject({ max_in_flight: 150, timeout_seconds: 60 });
  expect([kept.paused_at === null, kept.held_until === null]).toEqual([false, false]);
  expect([capped.max_in_flight, raised.max_in_flight]).toEqual([100, 600]);
});

it('a handler that was removed while it was paused is paused when it returns, as by a rollback', async () => {
  const [mail, vector, other] = [{ jobType: 'mail' }, { jobType: 'index', routingKey: 'vector' }, { jobType: 'other' }];
  const paused = async () => (await handlers()).flatMap((row) => (row.paused_at === null ? [] : [row.job_type]));
  await deploy(db, mail, vector, other);
  await pool.query(`select millrace.resume('mail'), millrace.pause('index', 'vector')`);
  await deploy(db, other);

  await deploy(db, mail, vector, other);
  const returned = await paused();
  await pool.query(`select millrace.resume('index', 'vector')`);
  await deploy(db, other);
  await deploy(db, mail, vector, other);

  expect([returned, await paused()]).toEqual([['index'], []]);
});

it('removes a handler that is no longer deployed, and none of its jobs', async () => {
  await deploy(db, { jobType: 'mail' }, { jobType: 'index', routingKey: 'a' }, { jobType: 'index', routingKey: 'b' });
  const [id] = await insertJobs(pool, 'mail', 1);

  await deploy(db, { jobType: 'index', routingKey: 'b' });

  expect(await handlers()).toMatchObject([{ job_type: 'index', routing_key: 'b' }]);
  const { rows } = await pool.query('select status from millrace.jobs where id = $1', [id]);
  expect(rows).toEqual([{ status: 'pending' }]);
});

it('supports two concurrent deployments', async () => {
  const names = Array.from({ length: 30 }, (_, n) => ({ jobType: `type_${n}` }));

  await Promise.all([deploy(db, ...names), deploy(db, ...names.toReversed()), deploy(db, ...names)]);

  expect(await handlers()).toHaveLength(30);
});

it('does not wait for locked jobs', async () => {
  await deploy(db, { jobType: 'mail' });
  const [id] = await insertJobs(pool, 'mail', 1);
  const holder = await createClient(engine.test.url);
  await holder.query('begin');
  await holder.query('select from millrace.jobs_live where id = $1 for update', [id]);

  await deploy(db, { jobType: 'mail', timeout: 45 });

  expect(await handlers()).toMatchObject([{ timeout_seconds: 45 }]);
});
