import { afterAll, beforeEach, expect, it } from 'vitest';
import { claimNudge, releaseNudge } from '../../../core/dispatch/claim-nudge.ts';
import { openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine({ connections: 4 });
const { pool, db } = engine;
afterAll(() => engine.close());

const nudged = (at: string) => pool.query(`update millrace.dispatcher_runs set nudged_at = ${at}`);
beforeEach(() => nudged('null'));

it('gives one of many processes the nudge of a second, with the rights of the functions', async () => {
  const claims = await Promise.all([1, 2, 3, 4].map(() => claimNudge(db)));

  expect(claims.filter((since) => since === undefined)).toHaveLength(1);
});

it('tells the others the age of the nudge', async () => {
  // A clock that was set back does not keep anyone from waking the dispatcher.
  await nudged("millrace.clock() + interval '1 hour'");
  const first = await claimNudge(db);
  const second = await claimNudge(db);

  expect(first).toBeUndefined();
  expect(second).toEqual(expect.any(Number));
});

it.each([
  ['after a second', "millrace.clock() - interval '1 second'"],
  ['for the first time', 'null'],
])('claims the nudge %s', async (_case, at) => {
  await nudged(at);

  expect(await claimNudge(db)).toBeUndefined();
});

it('lets the next caller claim a nudge that failed', async () => {
  await claimNudge(db);
  await releaseNudge(db);

  expect(await claimNudge(db)).toBeUndefined();
});
