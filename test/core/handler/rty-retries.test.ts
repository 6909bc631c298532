import fc from 'fast-check';
import { expect, it } from 'vitest';
import { retry } from '../../../core/handler/retry-policy.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

const boom = () => Promise.reject(new Error('boom'));
const setPolicy = (policy: unknown) =>
  engine.sql('update millrace.handlers set retry_policy = $1', [JSON.stringify(policy)]);

/** Fails one job with this number of earlier attempts, and returns the seconds until it is due again. */
async function failAfter(attempts: number) {
  const { ids, records } = await engine.deliver(1, { maxAttempts: 1000 });
  await engine.sql('alter table millrace.jobs_live disable trigger user');
  await engine.sql('update millrace.jobs_live set attempts = $2 where id = $1', [ids[0], attempts]);
  await engine.sql('alter table millrace.jobs_live enable trigger user');
  engine.work = boom;
  const ran = await engine.run(records);
  return { ran, state: await engine.state(ids[0]!) };
}

it.each([1, 31, 32, 60, 64, 999])('RTY-01: the delay after attempt %i is between base and cap', async (attempt) => {
  await setPolicy(retry.exponential({ base: '30s', max: '1h', jitter: 0.2 }));

  const { ran, state } = await failAfter(attempt - 1);

  expect(ran.failed).toEqual([]);
  expect(state).toMatchObject({ status: 'failed', attempts: attempt });
  expect(state.due_in).toBeGreaterThan(29);
  expect(state.due_in).toBeLessThanOrEqual(3600 * 1.2);
});

it.each([1100, 2_147_483_646, 2_147_483_647])('RTY-01: attempt %i, above every limit, is settled', async (attempt) => {
  await setPolicy(retry.exponential({ base: '30s', max: '1h' }));

  const { ran, state } = await failAfter(attempt - 1);

  expect(ran.failed).toHaveLength(1);
  expect(state).toMatchObject({ status: 'dead_letter', attempts: attempt });
});

it('RTY-01: a job whose attempts are at the limit of the column is started and settled', async () => {
  const { state } = await failAfter(2_147_483_647);

  expect(state).toMatchObject({ status: 'dead_letter', attempts: 2_147_483_647 });
});

it('RTY-01: a maximum above the default applies', async () => {
  await setPolicy(retry.exponential({ base: '30s', max: '7d', jitter: 0 }));

  const { state } = await failAfter(900);

  expect(state.due_in).toBeCloseTo(7 * 86_400, -1);
});

it('RTY-01: for every policy and attempt, the next attempt is never in the past and within a year', async () => {
  const span = fc.double({ min: 0, max: 365 * 86_400, noNaN: true });
  const jitter = fc.double({ min: 0, max: 1, noNaN: true });
  const policy = fc.oneof(
    fc.record({ kind: fc.constant('schedule'), delays: fc.array(span, { minLength: 1, maxLength: 9 }), jitter }),
    fc.record({ kind: fc.constant('fixed'), delay: span, jitter }),
    fc.record({ kind: fc.constant('linear'), base: span, step: span, max: span, jitter }),
    fc.record({
      kind: fc.constant('exponential'),
      base: span,
      factor: fc.double({ min: 1, max: 1e300 }),
      max: span,
      jitter,
    }),
  );
  await fc.assert(
    fc.asyncProperty(policy, fc.integer({ min: 0, max: 998 }), async (any, attempts) => {
      engine.queues.purge();
      await engine.sql('delete from millrace.jobs_live');
      await setPolicy(any);

      const { ran, state } = await failAfter(attempts);

      expect(ran.failed).toEqual([]);
      expect(state.status).toBe('failed');
      expect(state.due_in).toBeGreaterThan(-5);
      expect(state.due_in).toBeLessThanOrEqual(365 * 86_400);
    }),
    { numRuns: 30 },
  );
});

const COMBINATIONS = [1, 3, 5].flatMap((maxAttempts) =>
  [3, 5, 10].map((receiveLimit) => ({ maxAttempts, receiveLimit })),
);

it.each(COMBINATIONS)(
  'RTY-03: with $maxAttempts attempts and a receive limit of $receiveLimit the handler runs $maxAttempts times',
  async ({ maxAttempts, receiveLimit }) => {
    await setPolicy(retry.fixed('1m'));
    engine.queues.receiveLimit = receiveLimit;
    const id = await engine.enqueue({ maxAttempts });
    engine.work = boom;

    for (let round = 0; round < maxAttempts + 3; round++) {
      await engine.dispatch();
      await engine.run(engine.queues.receive(QUEUE));
      await engine.advance(90);
    }
    for (let receive = 0; receive < 12; receive++) {
      engine.queues.showAll();
      await engine.run(engine.queues.receive(QUEUE));
    }

    expect(engine.runs).toEqual(Array(maxAttempts).fill(id));
    expect(await engine.state(id)).toMatchObject({ status: 'dead_letter', attempts: maxAttempts });
    expect(await engine.sql('select status from millrace.dead_letters')).toEqual([{ status: 'open' }]);
  },
);

it('RTY-03: deliveries that never reached the handler do not count as attempts', async () => {
  const id = await engine.enqueue({ maxAttempts: 3 });
  engine.work = boom;
  await setPolicy(retry.fixed('1m'));
  await engine.dispatch();
  for (const _throttled of [1, 2]) {
    engine.queues.receive(QUEUE);
    engine.queues.showAll();
  }

  for (let round = 0; round < 6; round++) {
    await engine.run(engine.queues.receive(QUEUE));
    await engine.advance(90);
    await engine.dispatch();
  }

  expect(engine.runs).toEqual([id, id, id]);
  expect(await engine.state(id)).toMatchObject({ status: 'dead_letter', attempts: 3 });
});
