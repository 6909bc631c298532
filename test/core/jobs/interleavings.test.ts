import fc from 'fast-check';
import { it } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { checkLife, STEPS } from '../../support/unruly-life.ts';

const engine = await openDatabaseEngine();

it('every interleaving finishes every job, runs no finished job and keeps consistent counts', async () => {
  await fc.assert(
    fc.asyncProperty(STEPS, async (steps) => void (await checkLife(engine, steps))),
    { numRuns: 10 },
  );
});
