import { beforeEach, expect, it } from 'vitest';
import { runDispatcher } from '../../../core/dispatch/dispatcher.ts';
import { openLog } from '../../../core/log.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { stillTime } from '../../support/still-time.ts';

const engine = await openDatabaseEngine();
beforeEach(() =>
  engine.sql(`delete from millrace.schedules; delete from millrace.schedule_ticks;
    update millrace.dispatcher_runs set floors = null`),
);

/** Runs a dispatcher in mode tick, whose rounds take no time, or as long as `onLook` says. */
async function tick(onLook: (time: { at: number }) => void = () => undefined): Promise<void> {
  const time = stillTime();
  const { db, queues } = engine;
  const query: typeof db.query = (text, values) => {
    if (text.includes('next_joins')) onLook(time);
    return db.keyed.query(text, values);
  };
  const deps = { db: { ...db, keyed: { query } }, queues, log: openLog(() => undefined), time, random: () => 0.5 };
  await runDispatcher(deps, { mode: 'tick', pollIntervalMs: 1000, windowMs: 125_000 });
}

/** Inserts schedules with a queued tick, all but the last of which have an unfinished job. */
async function insertQueued(count: number): Promise<void> {
  await engine.sql(
    `insert into millrace.schedules (name, job_type, every_seconds, overlap, queued_tick_at, next_tick_at, computed_at)
       select 's' || lpad(n::text, 5, '0'), 'later', 86400, 'queue-one', millrace.clock(), 'infinity', millrace.clock()
         from generate_series(1, $1::integer) n`,
    [count],
  );
  const busy = await engine.enqueue({ jobType: 'busy' });
  await engine.sql(
    `insert into millrace.schedule_ticks (schedule, tick_at, result, job_id)
       select name, queued_tick_at, 'queued', null from millrace.schedules
       union all
       select name, queued_tick_at - interval '1 day', 'enqueued', $2::bigint from millrace.schedules
         where name < 's' || lpad($1::text, 5, '0')`,
    [count, busy],
  );
}

it.each([
  [1001, 2],
  [2001, 3],
])('enqueues the queued tick of the last of %s schedules after %s runs', async (count, runs) => {
  await insertQueued(count);

  for (let run = 1; run < runs; run += 1) await tick();
  expect(await engine.sql(`select id from millrace.jobs where job_type = 'later'`)).toHaveLength(0);
  await tick();

  expect(await engine.sql(`select id from millrace.jobs where job_type = 'later'`)).toHaveLength(1);
});

it('continues a job whose children have finished after a thousand jobs whose children run', async () => {
  await engine.sql(`insert into millrace.jobs_live (id, job_type, max_attempts, hold_until)
    select n, 'later', 5, case when n > 1 then timestamptz '9999-12-31 00:00:00+00' end
      from generate_series(1, 1002) n`);
  await engine.sql(`insert into millrace.job_joins (job_id, parent_id, children, past_dead)
    select n, 0, array[case when n < 1002 then 1 else 5000 end], false from generate_series(2, 1002) n`);
  const slow = (time: { at: number }) => {
    time.at += 600;
  };

  await tick(slow);
  await tick(slow);

  expect(await engine.sql('select job_id::int from millrace.job_joins where ended_at is not null')).toEqual([
    { job_id: 1002 },
  ]);
});
