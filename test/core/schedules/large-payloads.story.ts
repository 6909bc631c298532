import { expect, it } from 'vitest';
import { openScheduleWorld } from './schedule-world.ts';

const world = await openScheduleWorld();
const { pool, db, log } = world;

// Postgres compresses a megabyte of one character to twelve kilobytes.
const insertLarge = (count: number, columns: { catchUp?: string; queued?: boolean } = {}) =>
  pool.query(
    `insert into millrace.schedules (name, job_type, every_seconds, since, payload, catch_up, overlap, queued_tick_at,
         next_tick_at)
       select 'large-' || n, 'report', 60, '2026-12-31T20:00:00Z', jsonb_build_object('text', repeat('x', 1000000)),
              $2, case when $3 then 'queue-one' else 'allow' end,
              case when $3 then timestamptz '2026-12-31T23:00:00Z' end,
              case when $3 then timestamptz '2028-01-01' else '-infinity' end
         from generate_series(1, $1) n`,
    [count, columns.catchUp ?? 'latest', columns.queued ?? false],
  );

/** Runs a round without a limit on its time; returns the number of jobs, and of statements that enqueue. */
const round = async () => {
  let statements = 0;
  const limited: typeof db.limited = (limits) => {
    statements += 1;
    return db.limited(limits);
  };
  return { jobs: await world.round({ db: { ...db, limited }, now: () => 0 }), statements };
};

it('payloads that Postgres compresses are enqueued in statements of eight megabytes', async () => {
  await insertLarge(30);

  expect(await round()).toEqual({ jobs: 30, statements: 5 });
});

it('payloads that Postgres compresses of queued ticks are enqueued in statements of eight megabytes', async () => {
  await insertLarge(30, { queued: true });

  expect(await round()).toEqual({ jobs: 30, statements: 5 });
});

it('a hundred ticks of one schedule are enqueued in statements of eight megabytes, the oldest first', async () => {
  await insertLarge(1, { catchUp: 'all(100)' });
  let ms = 0;
  const first = await world.round({ now: () => (ms += 500) });
  const runTimes = await world.runTimes();

  const rest = await round();

  expect([first, runTimes.at(0), runTimes.at(-1)]).toEqual([7, '12-31T22:21', '12-31T22:27']);
  expect(rest).toEqual({ jobs: 93, statements: 14 });
  expect(new Set(await world.runTimes()).size).toBe(100);
  expect(log.events('schedules_failed')).toEqual([]);
});
