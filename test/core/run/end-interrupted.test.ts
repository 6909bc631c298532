import { expect, it } from 'vitest';
import { endInterrupted } from '../../../core/run/rescue-lost.ts';
import { crash } from '../../support/crash.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();
const REASON = 'ended by the stop';

/** Starts jobs in a process that is then stopped, and returns their ids and its request. */
async function stopped(count: number, options = {}) {
  const { ids, records } = await engine.deliver(count, options);
  await crash(engine, records);
  const [handler] = await engine.sql<{ name: string }>('select function_name as name from millrace.handlers');
  const { request_id } = await engine.state(ids[0]!);
  return { ids, request: { functionName: handler!.name, requestId: request_id! } };
}

it.each([
  ['one job', 1, {}],
  ['a job with one attempt', 1, { maxAttempts: 1 }],
  ['a batch of ten jobs', 10, {}],
])('makes %s due at once, and uses no attempt', async (_what, count, options) => {
  const { ids, request } = await stopped(count, options);

  const ended = await endInterrupted(engine.db, [request], REASON);

  expect(ended).toBe(count);
  const states = await Promise.all(ids.map((id) => engine.state(id)));
  const due = { status: 'pending', attempts: 0, suspect: false };
  expect(states).toMatchObject(Array(count).fill(due));
  const rows = await engine.sql(
    `select distinct outcome, error_name, error_message from millrace.job_attempts where job_id = any('{${ids}}')`,
  );
  expect(rows).toEqual([{ outcome: 'snoozed', error_name: 'Interrupted', error_message: REASON }]);
});

it('ends a job with a cancel request as cancelled', async () => {
  const { ids, request } = await stopped(1);
  await engine.sql(`select millrace.cancel(${ids[0]})`);

  await endInterrupted(engine.db, [request], REASON);

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'cancelled' });
});

it.each([
  ['another request', { requestId: 'another' }],
  ['another function', { functionName: 'another' }],
])('does not end attempts of %s', async (_what, other) => {
  const { ids, request } = await stopped(1);

  const ended = await endInterrupted(engine.db, [{ ...request, ...other }], REASON);

  expect(ended).toBe(0);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'running' });
});
