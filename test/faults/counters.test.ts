import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openEngine } from '../support/engine.ts';
import { checkLife, STEPS } from '../support/unruly-life.ts';

const EVENTS = 20_000;
const LIVES_AT_ONCE = 10;

// Much of a life is waiting for something not to happen, so several are led side by side.
const engines = [await openEngine(), await openEngine(), await openEngine(), await openEngine()];

it('the counters agree with the tables after 20,000 random events with faults', async () => {
  let counted = 0;

  await Promise.all(
    engines.map(async (engine) => {
      const live = fc.asyncProperty(STEPS, async (steps) => {
        counted += await checkLife(engine, steps);
      });
      while (counted < EVENTS) await fc.assert(live, { numRuns: LIVES_AT_ONCE });
    }),
  );

  expect(counted).toBeGreaterThanOrEqual(EVENTS);
});
