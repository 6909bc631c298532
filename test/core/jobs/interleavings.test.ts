import fc from 'fast-check';
import { it } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { checkLife, STEPS } from '../../support/unruly-life.ts';

const engine = await openDatabaseEngine();

it('ends every job, runs none that has ended and keeps its books, whatever happens in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(STEPS, async (steps) => void (await checkLife(engine, steps))),
    { numRuns: 10 },
  );
});
