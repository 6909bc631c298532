import { afterAll, expect, it } from 'vitest';
import { awaitRound } from '../../../core/registry/await-round.ts';
import { openEngine } from '../../support/runtime-engine.ts';
import { stillTime } from '../../support/still-time.ts';

const engine = await openEngine({ connections: 2 });
const { pool, db, log } = engine;
afterAll(() => engine.close());

const lastRound = (at: string) => pool.query(`update millrace.dispatcher_runs set last_round_at = ${at}`);

it('waits for the first round, and a minute for CloudWatch', async () => {
  await lastRound('null');
  const time = stillTime((slept) => (slept === 5 ? lastRound('millrace.clock()') : undefined));

  await awaitRound({ db, time, log });

  expect(time.at).toBe(5 * 2_000 + 60_000);
  expect(log.events('registry_waiting')).toHaveLength(1);
});

it('does not wait where the dispatcher runs', async () => {
  await lastRound('millrace.clock()');
  const time = stillTime();

  await awaitRound({ db, time, log });

  expect(time.sleeps).toBe(0);
});

it('ends after three minutes without a round, so that the alarm reports it', async () => {
  await lastRound(`millrace.clock() - interval '1 hour'`);
  const time = stillTime();

  await awaitRound({ db, time, log });

  expect(time.at).toBe(180_000);
});
