import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { openDeadLetterWorld } from './dead-letter-world.ts';
import { openUnrulyDeath, type Step } from './dlq-unruly.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });

const pick = fc.nat(1000);
const seconds = fc.constantFrom(1, 61, 250, 1_000, 5_000);
const rate = fc.constantFrom(null, 1, 0.01);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('enqueue'), count: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('mend', 'retry', 'discard'), pick }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('advance'), seconds }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('redrive'), rate }) },
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constantFrom('work off', 'work off', 'mirror', 'move task', 'rescue') }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('receive and die', 'run and die', 'mirror and die') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('purge', 'purge dead letters') }) },
) as fc.Arbitrary<Step>;

const READ_BOOKS = `
  select array(select id from millrace.jobs_live where status = 'dead_letter' order by id) as dead,
         array(select job_id from millrace.dead_letters where status = 'open' order by job_id) as open`;
const READ_ENDS = 'select id::text, status from millrace.jobs j order by j.id::text';
const EMPTY = { visible: 0, hidden: 0 };

it('keeps one open letter a dead job, and brings each back by move tasks alone, whatever happened before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 50, size: 'max' }), async (steps) => {
      await engine.clear();
      const world = await openDeadLetterWorld(engine);
      const unruly = openUnrulyDeath(world);

      const books: Record<string, unknown>[] = [];
      for (const one of steps) {
        await unruly.take(one);
        books.push(...(await engine.sql(READ_BOOKS)));
      }
      await unruly.drain();
      await world.advance(16 * 60);
      await world.mirror();

      for (const { dead, open } of books) expect(open).toEqual(dead);
      const ends = await engine.sql<{ id: string; status: string }>(READ_ENDS);
      expect(ends.map(({ id }) => id)).toEqual(unruly.ids.toSorted());
      const succeeded = ends.filter(({ status }) => status === 'succeeded').map(({ id }) => id);
      expect(ends.filter(({ status }) => status !== 'cancelled')).toHaveLength(succeeded.length);
      expect(unruly.effects.toSorted()).toEqual(succeeded.toSorted());
      expect(await world.depth(world.work.queueUrl)).toEqual(EMPTY);
      expect(await world.depth(world.work.deadLetterQueueUrl)).toEqual(EMPTY);
      expect((await world.rows()).filter(({ status }) => status === 'open')).toEqual([]);
    }),
    { numRuns: 5 },
  );
});
