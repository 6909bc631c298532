import { expect, it } from 'vitest';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';

// During a deployment, the function and the registry have different timeouts, for minutes.
const engine = await openDatabaseEngine({ timeout: '100s' });

const LEASE = `select extract(epoch from lease_expires_at - started_at)::integer as lease from millrace.jobs_live`;

/** Starts a job in a function with this timeout; the call that is returned ends its run. */
async function start(timeoutSeconds: number) {
  const definition = { ...engine.definition, timeoutSeconds };
  const { ids, records } = await engine.deliver(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  engine.work = () => {
    entered.resolve();
    return promise;
  };
  const running = engine.run(records, { deps: { definition }, remainingMs: () => 900_000 });
  await entered.promise;
  const [row] = await engine.sql<{ lease: number }>(LEASE);
  const finish = async () => {
    resolve();
    await running;
  };
  return { id: ids[0]!, lease: row!.lease, finish };
}

it.each([
  ['a longer timeout than the registry', 300, 315],
  ['a shorter timeout than the registry', 30, 115],
  ['the timeout of the registry', 100, 115],
])('a job runs under a lease that covers a function with %s', async (_what, timeout, expected) => {
  const { id, lease, finish } = await start(timeout);
  await engine.advance(timeout + 1);

  const rescued = await engine.rescue();
  await finish();

  expect(lease).toBe(expected);
  expect(rescued.attempts).toBe(0);
  expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
});

it('a job whose function died is rescued after the longer lease', async () => {
  const { id, finish } = await start(300);
  await engine.advance(316);

  await engine.rescue();
  const state = await engine.state(id);
  await finish();

  expect(state).toMatchObject({ status: 'failed', attempts: 1 });
});

it('a later start has the lease of the new registry', async () => {
  const definition = { ...engine.definition, timeoutSeconds: 300 };
  const address = { queueUrl: QUEUE, deadLetterQueueUrl: `${QUEUE}-dlq`, functionName: 'work' };
  await registerHandlers({ db: engine.db, stage: 'local' }, [{ definition, ...address }]);

  const { lease, finish } = await start(100);
  await finish();

  expect(lease).toBe(315);
});
