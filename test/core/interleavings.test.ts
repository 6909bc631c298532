import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openEngine } from '../support/engine.ts';
import { openUnruly } from '../support/unruly-engine.ts';
import { OUTCOMES, type Step } from '../support/unruly-steps.ts';

const engine = await openEngine();

const pick = fc.nat(1000);
const dies = fc.option(fc.record({ at: fc.integer({ min: 1, max: 4 }), done: fc.boolean() }), { freq: 3 });
const fate = fc.oneof(
  { weight: 8, arbitrary: fc.constant('sent' as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('refused' as const, 'unknown' as const, 'late' as const, 'rejected' as const),
  },
);
const fates = fc.array(fate, { minLength: 1, maxLength: 6 });
const death = fc.constantFrom('never' as const, 'never' as const, 'before send' as const, 'after send' as const);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('enqueue'),
      count: fc.integer({ min: 1, max: 4 }),
      maxAttempts: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('dispatch'), fates, dies: death }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('receive'), most: fc.integer({ min: 1, max: 10 }), dies }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('deliver again'), pick, dies }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('copy'), pick }) },
  { weight: 9, arbitrary: fc.record({ do: fc.constant('end'), pick, outcome: fc.constantFrom(...OUTCOMES) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill'), pick }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advance'), seconds: fc.constantFrom(1, 61, 70, 400, 5_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('cancel', 'retry'), pick }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('rescue', 'maintain', 'show all', 'show all') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('console redrive', 'purge') }) },
) as fc.Arbitrary<Step>;

const COUNTS = `
  select coalesce(sum(count) filter (where event = 'enqueued'), 0)::integer as enqueued,
         coalesce(sum(count) filter (where event = 'failed'), 0)::integer as failed,
         coalesce(sum(count) filter (where event = 'retried'), 0)::integer as retried,
         coalesce(sum(count) filter (where event = 'dead_lettered'), 0)::integer as dead,
         coalesce(sum(count) filter (where event = 'failed' and status = 'cancelled'), 0)::integer as cancelled,
         coalesce(sum(count) filter (where event = 'succeeded'), 0)::integer as succeeded
    from millrace.job_events`;

const ENDED = ['succeeded', 'skipped', 'cancelled'];
const READ_STATUSES = 'select j.id::text, j.status from millrace.jobs j order by j.id';
const READ_OPEN = "select job_id::text as id from millrace.dead_letters where status = 'open' order by job_id";

it('ends every job, runs none that has ended and keeps its books, whatever happens in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), async (steps) => {
      await engine.clear();
      const unruly = openUnruly(engine);

      for (const one of steps) await unruly.take(one);
      await unruly.drain();
      const first = await engine.sql<{ id: string; status: string }>(READ_STATUSES);
      // What hung all the while ends now. It can redrive what is dead, and nothing else.
      await unruly.endAll();
      await unruly.drain();
      const last = await engine.sql<{ id: string; status: string }>(READ_STATUSES);

      expect(first.map(({ id }) => id)).toEqual(unruly.ids);
      expect(first.filter(({ status }) => ![...ENDED, 'dead_letter'].includes(status))).toEqual([]);
      const ended = first.filter(({ status }) => ENDED.includes(status));
      expect(last).toEqual(expect.arrayContaining(ended));
      expect(last.filter(({ status }) => ![...ENDED, 'dead_letter'].includes(status))).toEqual([]);
      expect(unruly.wronglyRun).toEqual([]);
      const dead = last.filter(({ status }) => status === 'dead_letter').map(({ id }) => ({ id }));
      expect(await engine.sql(READ_OPEN)).toEqual(dead);
      const [counts] = await engine.sql<Record<string, number>>(COUNTS);
      expect(counts!.enqueued).toBe(unruly.ids.length);
      expect(counts!.failed).toBe(counts!.retried! + counts!.dead! + counts!.cancelled!);
      expect(counts!.succeeded).toBe(last.filter(({ status }) => status === 'succeeded').length);
    }),
    { numRuns: 10 },
  );
}, 120_000);
