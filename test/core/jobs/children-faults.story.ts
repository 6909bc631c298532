import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { openUnruly } from '../../support/unruly-engine.ts';
import { STEPS } from '../../support/unruly-life.ts';
import { withQuery } from '../../support/with-query.ts';
import { fanOut, look, merge } from './family.ts';

const engine = await openDatabaseEngine({ maxAttempts: 2 });

const dueIn = async (id: string) => (await engine.state(id)).due_in ?? 0;
const isHeld = async (id: string) => (await dueIn(id)) > 86_400 * 365;
const unfinished = (children: readonly string[]) =>
  engine.sql<{ id: string; status: string }>(
    'select id::text, status from millrace.jobs_live where id = any($1) order by id',
    [children],
  );

it('10,000 children are enqueued at once, each runs once, and one job continues after the last', async () => {
  const { parent, children, waiting } = await fanOut(engine, 10_000);
  expect(new Set(children).size).toBe(10_000);
  let continued = 0;

  for (let round = 0; round < 200 && continued === 0; round++) {
    await engine.dispatch();
    for (let records = engine.queues.receive('memory://work', 500); records.length > 0; ) {
      await engine.run(records);
      records = engine.queues.receive('memory://work', 500);
    }
    // Read before the dispatchers look: what they make due must have finished then.
    const left = await unfinished(children);
    const counts = await Promise.all([look(engine), look(engine)]);
    continued += counts[0] + counts[1];
    expect(continued === 0 || left.length === 0).toBe(true);
  }

  expect(continued).toBe(1);
  expect(await isHeld(waiting)).toBe(false);
  expect(engine.runs.filter((id) => id !== parent).toSorted()).toEqual(children.toSorted());
});

it.each([1, 2, 3, 4, 5, 6].flatMap((at) => [false, true].map((done) => [at, done] as const)))(
  'a parent that dies at its statement %i (recorded: %s) makes one family in the end',
  async (at, done) => {
    const { ids, records } = await engine.deliver(1, { maxAttempts: 20 });
    engine.work = ({ jobId, enqueueChildren }) => {
      if (jobId !== ids[0]) return undefined;
      const children = Array.from({ length: 5 }, () => ({ handler: engine.definition, payload: {} }));
      return enqueueChildren(children, { onAllFinished: { handler: merge, payload: {} } });
    };
    let statements = 0;
    const db = withQuery(engine.db, async (text, values) => {
      if (++statements === at && !done) throw new Error('terminating connection');
      const answer = await engine.db.query(text, values);
      if (statements === at) throw new Error('terminating connection');
      return answer;
    });
    let remaining = 60_000;
    await engine.run(records, { deps: { db }, remainingMs: () => (remaining -= 5_000) }).catch(() => undefined);

    for (let round = 0; round < 20; round++) {
      await engine.advance(400);
      await engine.rescue();
      await engine.dispatch();
      engine.queues.showAll();
      await engine.run(engine.queues.receive('memory://work', 10));
      await look(engine);
    }

    const joins = await engine.sql<{ children: number; ended: boolean }>(
      'select cardinality(children) as children, ended_at is not null as ended from millrace.job_joins',
    );
    expect((await engine.state(ids[0]!)).status).toBe('succeeded');
    expect(joins).toEqual([{ children: 5, ended: true }]);
    expect(await engine.sql(`select from millrace.jobs where job_type = 'work'`)).toHaveLength(6);
    expect(await engine.sql(`select from millrace.jobs where job_type = 'merge'`)).toHaveLength(1);
  },
);

it('whatever happens to children, the job that waits continues once, after all that count as finished', async () => {
  await fc.assert(
    fc.asyncProperty(
      STEPS,
      fc.integer({ min: 1, max: 8 }),
      fc.constantFrom('wait' as const, 'continue' as const),
      async (steps, count, onDeadChild) => {
        await engine.clear();
        const { children, waiting } = await fanOut(engine, count, { onDeadChild });
        const unruly = openUnruly(engine);
        unruly.ids.push(...children);
        let continued = 0;
        const lookTwice = async () => {
          const left = await unfinished(children);
          const counting = left.filter(({ status }) => status !== 'dead_letter' || onDeadChild === 'wait');
          const [one, other] = await Promise.all([look(engine), look(engine)]);
          continued += one + other;
          // A dead child that is retried after its join has passed it no longer matters to the join.
          if (one + other > 0 && onDeadChild === 'wait') expect(counting).toEqual([]);
          if (continued === 0) expect(await isHeld(waiting)).toBe(true);
        };

        for (const step of steps) {
          // Other jobs do not matter here.
          if (step.do === 'enqueue') continue;
          await unruly.take(step);
          await lookTwice();
        }
        await unruly.endAll();
        for (let round = 0; round < 3; round++) {
          await unruly.drain();
          // Those that are left are dead.
          await lookTwice();
          for (const { id } of await unfinished(children)) await engine.sql('select millrace.retry($1)', [id]);
        }
        await unruly.drain();
        await lookTwice();

        expect(await unfinished(children)).toEqual([]);
        expect(unruly.wronglyRun).toEqual([]);
        expect(continued).toBe(1);
        expect(await isHeld(waiting)).toBe(false);
      },
    ),
    { numRuns: 10 },
  );
});
