import { expect, it } from 'vitest';
import { retry } from '../../../core/handler/retry-policy.ts';
import { openLog } from '../../../core/log.ts';
import { rescue } from '../../../core/run/rescue-lost.ts';
import { crash } from '../../support/crash.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';
import { faultsOf } from '../../support/log-lines.ts';

const engine = await openDatabaseEngine();

async function crashed(count: number, options = {}) {
  const { ids, records } = await engine.deliver(count, options);
  await crash(engine, records);
  await engine.advance(46);
  return ids;
}

it('delays the next attempt by the policy and a jitter of at least a fifth', async () => {
  const [id] = await crashed(1);

  const delays = [];
  for (const chance of [0, 0.999]) {
    await engine.sql(
      `update millrace.jobs_live set status = 'running', next_retry_at = null,
        lease_expires_at = millrace.clock() - interval '1 s'`,
    );
    await rescue({ db: engine.db, random: () => chance });
    delays.push(Math.round((await engine.state(id!)).due_in!));
  }

  expect(delays).toEqual([60, 72]);
});

it('settles a crash as cancelled when the job has a cancel request', async () => {
  const [id] = await crashed(1);
  await engine.sql('select millrace.cancel($1)', [id]);

  const rescued = await engine.rescue();

  expect(rescued.attempts).toBe(1);
  expect(await engine.state(id!)).toMatchObject({ status: 'cancelled', attempts: 1 });
});

it('makes a dead letter after the last attempt, and keeps claim and delivery for its message', async () => {
  const [id] = await crashed(1, { maxAttempts: 1 });
  const before = await engine.state(id!);

  await engine.rescue();

  const { claim_no, message_id } = before;
  expect(await engine.state(id!)).toMatchObject({ status: 'dead_letter', claim_no, message_id });
  const dead = await engine.sql('select job_id::text, claim_no::text, error_stacktrace from millrace.dead_letters');
  expect(dead).toEqual([{ job_id: id, claim_no, error_stacktrace: null }]);
});

it.each([
  ['retries a crash that retryOn does not list', { retryOn: ['Busy'] }, 'failed'],
  ['makes a dead letter of a crash that deadLetterOn lists', { deadLetterOn: ['LeaseExpired'] }, 'dead_letter'],
  ['retries a crash that deadLetterOn does not list', { deadLetterOn: ['NotFound'] }, 'failed'],
])('%s', async (_what, filters, status) => {
  const [handler] = await engine.sql('select retry_policy from millrace.handlers');
  const [id] = await crashed(1);
  await engine.sql('update millrace.handlers set retry_policy = $1', [JSON.stringify(retry.fixed('1m', filters))]);

  await engine.rescue();
  await engine.sql('update millrace.handlers set retry_policy = $1', [JSON.stringify(handler!.retry_policy)]);

  expect(await engine.state(id!)).toMatchObject({
    status,
    last_error: expect.stringMatching(/^its process did not report back within \d+ s: /),
  });
});

it('uses the default policy when the handler is not registered', async () => {
  const [id] = await crashed(1);
  const kept = await engine.sql('delete from millrace.handlers returning *');

  await engine.rescue();
  await engine.sql('insert into millrace.handlers select * from jsonb_populate_record(null::millrace.handlers, $1)', [
    JSON.stringify(kept[0]),
  ]);

  expect(await engine.state(id!)).toMatchObject({ status: 'failed' });
});

it('skips a locked row and rescues it later', async () => {
  const ids = await crashed(3);
  const holder = await createClient(engine.database.url);
  await holder.query('begin');
  await holder.query('select from millrace.jobs_live where id = $1 for update', [ids[1]]);

  const first = await engine.rescue();
  await holder.query('rollback');
  const second = await engine.rescue();

  expect([first.attempts, second.attempts]).toEqual([2, 1]);
});

it('ends every attempt once when two dispatchers rescue concurrently', async () => {
  await crashed(10);

  const rescued = await Promise.all([engine.rescue(), engine.rescue(), engine.rescue()]);

  expect(rescued.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(10);
  expect(await engine.sql('select from millrace.job_attempts')).toHaveLength(10);
});

it('releases a job with a lost message, and counts a loss only when a later job has started', async () => {
  const id = await engine.enqueue();
  await engine.dispatch();
  engine.queues.purge();
  await engine.advance(10_000);
  await engine.rescue();
  const quiet = await engine.state(id);
  await engine.dispatch();
  engine.queues.purge();
  const later = await engine.deliver(1);
  await engine.run(later.records);
  await engine.advance(10_000);

  await engine.rescue();

  expect(quiet).toMatchObject({ status: 'pending', attempts: 0, losses: 0 });
  expect(await engine.state(id)).toMatchObject({ status: 'pending', attempts: 0, losses: 1 });
});

it('makes a dead letter after ten losses, and a redrive resets the count', async () => {
  await engine.sql('update millrace.handlers set retry_policy = $1', [JSON.stringify(retry.fixed('1m'))]);
  const id = await engine.enqueue();
  for (let loss = 1; loss <= 10; loss++) {
    await engine.dispatch();
    engine.queues.purge();
    await engine.run((await engine.deliver(1)).records);
    await engine.advance(10_000);
    await engine.rescue();
  }
  const dead = await engine.state(id);

  await engine.sql('select millrace.retry($1)', [id]);
  await engine.dispatch();
  await engine.run(engine.queues.receive(QUEUE));

  expect(dead).toMatchObject({
    status: 'dead_letter',
    attempts: 0,
    last_error: expect.stringMatching(/^its message was lost 10 times: check its queue/),
  });
  expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
});

it('logs every rescued attempt with its number, its request and the next due time', async () => {
  const [again] = await crashed(1);
  const [dead] = await crashed(1, { maxAttempts: 1 });
  const { db, lines } = engine;

  await rescue({ db, random: () => 0.5, log: openLog((line) => lines.push(JSON.parse(line))) });

  const told = lines.filter(({ event }) => event === 'attempt_rescued');
  expect(told).toMatchObject([
    { job_id: again, job_type: 'work', attempt: '1/5', status: 'failed', next_retry_at: expect.any(String) },
    { job_id: dead, job_type: 'work', attempt: '1/1', status: 'dead_letter' },
  ]);
  const requests = await engine.sql<{ request_id: string }>(
    'select request_id from millrace.job_attempts order by job_id',
  );
  expect(told.map((line) => line.attempt_request_id)).toEqual(requests.map((one) => one.request_id));
  expect(told[0]?.message).toContain(`the process of request ${requests[0]?.request_id} did not report back`);
  expect(told.flatMap(faultsOf)).toEqual([]);
});

it.each([
  ['updates their priority', 'update millrace.jobs set priority = 1 where job_type = $1'],
  ['locks them', 'select from millrace.jobs_live where job_type = $1 for update'],
  ['shares a lock on them', 'select from millrace.jobs_live where job_type = $1 for share'],
])('rescues a job behind a thousand lost ones whose rows a transaction keeps that %s', async (_what, statement) => {
  const [id] = await crashed(1);
  await engine.sql(`insert into millrace.handler_starts values ('archive', '', 0) on conflict do nothing;
    insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no, started_at, lease_expires_at)
      select 'archive', 'running', 1, 5, 1, millrace.clock(), millrace.clock() from generate_series(1, 1000)`);
  const other = await createClient(engine.database.url);
  await other.query('begin');
  await other.query(statement, ['archive']);

  const during = await engine.rescue();
  await other.query('rollback');
  const after = await engine.rescue();

  expect([during.attempts, after.attempts]).toEqual([1, 1000]);
  expect(await engine.state(id!)).toMatchObject({ status: 'failed' });
});
