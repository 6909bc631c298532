import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../support/database-engine.ts';
import { checkLife, STEPS } from '../support/unruly-life.ts';

/** `EVENTS=20000 npm run faults -- counters` takes five minutes. */
const EVENTS = Number(process.env.EVENTS ?? 5000);
const LIVES_AT_ONCE = 10;

const engine = await openDatabaseEngine();

it(`the counters agree with the tables after ${EVENTS} random events with faults`, async () => {
  let counted = 0;
  const live = fc.asyncProperty(STEPS, async (steps) => {
    counted += await checkLife(engine, steps);
  });

  while (counted < EVENTS) await fc.assert(live, { numRuns: LIVES_AT_ONCE });

  expect(counted).toBeGreaterThanOrEqual(EVENTS);
});
