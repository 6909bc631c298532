import { expect, it } from 'vitest';
import { retry } from '../../../core/handler/retry-policy.ts';
import type { ProcessEnd } from '../../../core/run/process-end.ts';
import { rescueEnded } from '../../../core/run/rescue-lost.ts';
import { crash } from '../../support/crash.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

/** Starts jobs in a process that dies, and returns their ids and the end that Lambda logs. */
async function killed(count: number, options = {}) {
  const { ids, records } = await engine.deliver(count, options);
  await crash(engine, records);
  const [handler] = await engine.sql<{ name: string }>('select function_name as name from millrace.handlers');
  const { request_id } = await engine.state(ids[0]!);
  const end: ProcessEnd = {
    functionName: handler!.name,
    requestId: request_id!,
    ...{ name: 'OutOfMemory', message: 'its process ran out of memory' },
  };
  return { ids, end };
}

const end = (ends: readonly ProcessEnd[]) => rescueEnded({ db: engine.db, random: () => 0 }, ends);

it('ends every attempt of the process with the cause, before the lease expires', async () => {
  const { ids, end: cause } = await killed(2);

  const ended = await end([cause]);

  expect(ended).toBe(2);
  const lost = { status: 'failed', attempts: 1, suspect: true, last_error: cause.message };
  expect(await Promise.all(ids.map((id) => engine.state(id)))).toMatchObject([lost, lost]);
  const rows = await engine.sql('select error_name, error_stacktrace from millrace.job_attempts');
  expect(rows).toEqual(Array(2).fill({ error_name: 'OutOfMemory', error_stacktrace: null }));
});

it('gives dead letters of different causes different groups', async () => {
  const first = await killed(1, { maxAttempts: 1 });
  await end([first.end]);
  engine.queues.purge();
  const second = await killed(1, { maxAttempts: 1 });
  await end([{ ...second.end, name: 'ProcessEnded', message: 'its process exited (exit status 3)' }]);

  const groups = await engine.sql('select distinct fingerprint from millrace.dead_letters');

  expect(groups).toHaveLength(2);
});

it.each([
  ['another request', { requestId: 'another' }],
  ['another function', { functionName: 'another' }],
])('does not end attempts of %s', async (_what, other) => {
  const { ids, end: cause } = await killed(1);

  const ended = await end([{ ...cause, ...other }]);

  expect(ended).toBe(0);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'running' });
});

it('ends an attempt once, also when its lease expires later', async () => {
  const { ids, end: cause } = await killed(1);

  const counts = [await end([cause]), await end([cause])];
  await engine.advance(46);
  const { attempts } = await engine.rescue();

  expect([...counts, attempts]).toEqual([1, 0, 0]);
  expect(await engine.state(ids[0]!)).toMatchObject({ attempts: 1, last_error: cause.message });
});

it.each([
  ['its name', 'OutOfMemory', 'dead_letter'],
  ['LeaseExpired, which stands for every crash', 'LeaseExpired', 'dead_letter'],
  ['another crash', 'ProcessEnded', 'failed'],
])('applies a deadLetterOn that lists %s', async (_what, label, status) => {
  const [handler] = await engine.sql('select retry_policy from millrace.handlers');
  const { ids, end: cause } = await killed(1);
  const policy = retry.fixed('1m', { deadLetterOn: [label] });
  await engine.sql('update millrace.handlers set retry_policy = $1', [JSON.stringify(policy)]);

  await end([cause]);
  await engine.sql('update millrace.handlers set retry_policy = $1', [JSON.stringify(handler!.retry_policy)]);

  expect(await engine.state(ids[0]!)).toMatchObject({ status });
});
