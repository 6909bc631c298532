import { describe, expect, it } from 'vitest';
import type { Database } from '../../../core/postgres/database.ts';
import { createClient } from '../../support/database.ts';
import { openScheduleWorld } from './schedule-world.ts';

const world = await openScheduleWorld();
const { pool, db, log, test } = world;

const insertSchedule = (name: string, options: { uniqueKey?: string; queued?: boolean } = {}) =>
  pool.query(
    `insert into millrace.schedules (name, job_type, every_seconds, since, unique_key, overlap, queued_tick_at,
         next_tick_at)
       select $1, 'report', 60, '2026-12-31T23:59:00Z', $2, case when $3 then 'queue-one' else 'allow' end,
         case when $3 then timestamptz '2026-12-31T23:00:00Z' end,
         case when $3 then timestamptz '2028-01-01' else '-infinity' end`,
    [name, options.uniqueKey ?? null, options.queued ?? false],
  );

/** Inserts this number of schedules with a due tick. */
const insertOthers = async (count: number) => {
  for (let n = 1; n <= count; n++) await insertSchedule(`other-${String(n).padStart(2, '0')}`);
};

/** Returns the names of the schedules with a job, in order. */
const enqueued = async () => {
  const { rows } = await pool.query(
    'select distinct schedule from millrace.schedule_ticks where job_id is not null order by schedule',
  );
  return rows.map(({ schedule }) => schedule);
};

const OTHERS = ['other-01', 'other-02', 'other-03'];

describe('an unfinished transaction with the unique key of a schedule', () => {
  it.each([
    ['enqueues a job', `select * from millrace.enqueue('report', unique_key => 'nightly')`],
    ['inserts a job', `insert into millrace.jobs (job_type, unique_key) values ('report', 'nightly')`],
    ['runs the schedule', `select millrace.run_schedule('nightly')`],
  ])('that %s delays this schedule alone', async (_what, statement) => {
    await insertSchedule('nightly', { uniqueKey: 'nightly' });
    await insertOthers(3);
    const application = await createClient(test.url);
    await application.query(`begin; ${statement}`);

    const during = await world.round();
    const others = await enqueued();
    await application.query('rollback');
    const after = await world.round();

    expect([during, others]).toEqual([3, OTHERS]);
    expect(log.events('schedules_failed')).toHaveLength(1);
    expect(log.events('schedule_failed')).toMatchObject([{ schedule: 'nightly' }]);
    expect([after, await enqueued()]).toEqual([1, ['nightly', ...OTHERS]]);
  });

  it('delays this schedule alone when its tick is queued', async () => {
    await insertSchedule('nightly', { uniqueKey: 'nightly', queued: true });
    await insertSchedule('zealous', { queued: true });
    await pool.query(`insert into millrace.schedule_ticks (schedule, tick_at, result)
      select name, queued_tick_at, 'queued' from millrace.schedules where queued_tick_at is not null`);
    await insertOthers(3);
    const application = await createClient(test.url);
    await application.query(`begin; select * from millrace.enqueue('report', unique_key => 'nightly')`);

    const during = await world.round();
    const others = await enqueued();
    await application.query('rollback');
    const after = await world.round();

    expect([during, others]).toEqual([4, [...OTHERS, 'zealous']]);
    expect(log.events('schedule_failed')).toMatchObject([{ schedule: 'nightly' }]);
    expect([after, await enqueued()]).toEqual([1, ['nightly', ...OTHERS, 'zealous']]);
  });

  it('delays no statement with other schedules twice', async () => {
    await insertSchedule('nightly', { uniqueKey: 'nightly' });
    await insertOthers(3);
    const application = await createClient(test.url);
    await application.query(`begin; select * from millrace.enqueue('report', unique_key => 'nightly')`);
    await world.round();
    await world.setClock('2027-01-01T00:01:00Z');

    const second = await world.round();

    expect(second).toBe(3);
    expect(log.events('schedules_failed')).toHaveLength(1);
    expect(log.events('schedule_failed')).toHaveLength(2);
  });
});

/** A database whose statements for several schedules fail after ten seconds, and a clock that shows this time. */
function openSlow() {
  let ms = 0;
  const tried: string[][] = [];
  const refuse: typeof db.limited = (limits) => ({
    query: async (text, values = []) => {
      const [first] = values;
      const names = Array.isArray(first)
        ? first
        : JSON.parse(String(first)).map(({ schedule }: { schedule: string }) => schedule);
      tried.push(names);
      ms += 10_000;
      if (names.length > 1) return db.query('select 1 / 0');
      return db.limited(limits).query(text, values);
    },
  });
  const slow: Database = { ...db, limited: refuse };
  return { round: () => world.round({ db: slow, now: () => ms }), tried };
}

describe('when the failure of a statement used up the time of a round', () => {
  it('one schedule has its tick in each round, in turn', async () => {
    await insertOthers(3);
    const { round } = openSlow();
    const rounds: number[] = [];
    for (let n = 1; n <= 3; n++) rounds.push(await round());

    expect(rounds).toEqual([1, 1, 1]);
    expect(await enqueued()).toEqual(OTHERS);
    expect(log.events('schedules_failed')).toHaveLength(2);
  });

  it('one schedule has its queued tick in each round, in turn', async () => {
    for (const name of OTHERS) await insertSchedule(name, { queued: true });
    await pool.query(`insert into millrace.schedule_ticks (schedule, tick_at, result)
      select name, queued_tick_at, 'queued' from millrace.schedules`);
    const { round } = openSlow();
    const rounds: number[] = [];
    for (let n = 1; n <= 4; n++) rounds.push(await round());

    expect(rounds.reduce((sum, jobs) => sum + jobs, 0)).toBe(3);
    expect(await enqueued()).toEqual(OTHERS);
  });

  it('a schedule that fails is tried after the others, and they take turns', async () => {
    await pool.query(`alter table millrace.jobs_live add constraint odd check (unique_key not like 'odd-%')`);
    for (const n of [1, 2, 3]) await insertSchedule(`odd-${n}`, { uniqueKey: `odd-${n}` });
    await insertOthers(3);
    const { round, tried } = openSlow();
    for (let n = 1; n <= 6; n++) await round();
    const before = tried.length;
    for (let n = 1; n <= 3; n++) {
      await world.setClock(`2027-01-01T00:00:0${n}Z`);
      await round();
    }
    await pool.query('alter table millrace.jobs_live drop constraint odd');

    expect(await enqueued()).toEqual(OTHERS);
    expect(tried.slice(before).flat().toSorted()).toEqual(['odd-1', 'odd-2', 'odd-3']);
  });
});
