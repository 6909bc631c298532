import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openEngine } from '../support/engine.ts';
import { checkLife, STEPS } from '../support/unruly-life.ts';

const EVENTS = 20_000;
const LIVES_AT_ONCE = 20;

const engine = await openEngine();

it('the counters agree with the tables after 20,000 random events with faults', async () => {
  let counted = 0;
  const live = fc.asyncProperty(STEPS, async (steps) => {
    counted += await checkLife(engine, steps);
  });

  while (counted < EVENTS) await fc.assert(live, { numRuns: LIVES_AT_ONCE });

  expect(counted).toBeGreaterThanOrEqual(EVENTS);
});
