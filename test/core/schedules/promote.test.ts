import { describe, expect, it } from 'vitest';
import { computeTicks, openTimetables, readDueSchedules, storeTicks } from '../../../core/schedules/promote.ts';
import { openScheduleWorld } from './schedule-world.ts';

const world = await openScheduleWorld();
const { pool, db, log } = world;

it('enqueues one job for each tick', async () => {
  await world.declare({ nightly: { cron: '0 3 * * *' } });
  const rounds: number[] = [];
  for (const at of ['01T02:59:59', '01T03:00:00', '01T03:00:01', '01T04:00:00', '02T03:00:00']) {
    await world.setClock(`2027-01-${at}Z`);
    rounds.push(await world.round());
  }

  expect(rounds).toEqual([0, 1, 0, 0, 1]);
  expect(await world.runTimes()).toEqual(['01-01T03:00', '01-02T03:00']);
  expect(await world.ticks()).toEqual(['2027-01-01T03:00 enqueued', '2027-01-02T03:00 enqueued']);
});

it('enqueues with the payload, the options and the time of the tick', async () => {
  const job = { priority: 2, maxAttempts: 7, uniqueKey: 'daily', groupKey: 'reports' };
  await world.declare({ nightly: { cron: '0 3 * * *', payload: { a: 1 }, tickKey: 'at', ...job } });
  await world.setClock('2027-01-01T03:00:30Z');

  await world.round();

  const { rows } = await pool.query(`select job_type, payload, priority, max_attempts, unique_key, group_key, status
    from millrace.jobs`);
  const columns = { priority: 2, max_attempts: 7, unique_key: 'daily', group_key: 'reports' };
  expect(rows).toEqual([
    { job_type: 'report', status: 'pending', payload: { a: 1, at: '2027-01-01T03:00:00Z' }, ...columns },
  ]);
});

it('counts the jobs as enqueued, and fills in the attempts of the handler', async () => {
  await pool.query('delete from millrace.job_events');
  await world.declare({ nightly: { cron: '0 3 * * *' }, hourly: { cron: '0 * * * *' } });
  await world.setClock('2027-01-01T03:00:00Z');

  await world.round();

  const { rows } = await pool.query(
    'select event, job_type, sum(count)::int as count from millrace.job_events group by 1, 2',
  );
  expect(rows).toEqual([{ event: 'enqueued', job_type: 'report', count: 2 }]);
  expect((await pool.query('select distinct max_attempts from millrace.jobs')).rows).toEqual([{ max_attempts: 5 }]);
});

it('enqueues nothing while an unfinished job has the unique key, and records the tick', async () => {
  await pool.query(`insert into millrace.jobs (job_type, unique_key) values ('report', 'k')`);
  await world.declare({ nightly: { cron: '0 3 * * *', uniqueKey: 'k' } });
  await world.setClock('2027-01-01T03:00:00Z');

  const jobs = await world.round();

  expect([jobs, await world.ticks()]).toEqual([0, ['2027-01-01T03:00 deduplicated']]);
});

it('spreads the jobs of schedules with one tick over their window, each at its own place', async () => {
  const names = Array.from({ length: 50 }, (_, n) => `tenant-${n}`);
  await world.declare(Object.fromEntries(names.map((name) => [name, { cron: '0 * * * *', spread: '10m' }])));
  for (const hour of ['01', '02']) {
    await world.setClock(`2027-01-01T${hour}:00:00Z`);
    await world.round();
  }

  const { rows } = await pool.query(`select t.schedule, extract(epoch from j.run_at - t.tick_at)::int as after
    from millrace.schedule_ticks t join millrace.jobs j on j.id = t.job_id order by t.tick_at, t.schedule`);
  const offsets = rows.map(({ after }) => after);
  expect(offsets.slice(0, 50)).toEqual(offsets.slice(50));
  expect(new Set(offsets).size).toBeGreaterThan(40);
  expect(Math.min(...offsets)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...offsets)).toBeLessThanOrEqual(600);
});

describe('two dispatchers', () => {
  it('make one job for a tick that both have read', async () => {
    await world.declare({ nightly: { cron: '0 3 * * *' } });
    await world.round();
    await world.setClock('2027-01-01T03:00:00Z');
    const due = await readDueSchedules(db, 10);
    const computed = due.map((one) => computeTicks(one, openTimetables()));

    const counts = [await storeTicks(db, computed), await storeTicks(db, computed)];

    expect(counts).toEqual([{ enqueued: 1 }, {}]);
    expect(await world.runTimes()).toEqual(['01-01T03:00']);
  });

  it('make one job for each tick when they run at the same time', async () => {
    const names = Array.from({ length: 40 }, (_, n) => `tenant-${n}`);
    await world.declare(Object.fromEntries(names.map((name) => [name, { cron: '* * * * *' }])));
    for (let minute = 1; minute <= 5; minute++) {
      await world.setClock(`2027-01-01T00:0${minute}:00Z`);
      await Promise.all([world.round(), world.round(), world.round(), world.round()]);
    }

    const { rows } =
      await pool.query(`select count(*)::int as jobs, count(distinct (t.schedule, t.tick_at))::int as ticks
      from millrace.jobs j join millrace.schedule_ticks t on t.job_id = j.id`);
    expect(rows).toEqual([{ jobs: 200, ticks: 200 }]);
    expect(await world.runTimes()).toHaveLength(200);
  });

  it('make one job for a tick even if the lock and the version fail to keep them apart', async () => {
    await world.declare({ nightly: { cron: '0 3 * * *' } });
    await world.setClock('2027-01-01T03:00:00Z');
    await world.round();
    await pool.query(`update millrace.schedules set next_tick_at = '2027-01-01T03:00:00Z'`);

    const jobs = await world.round();

    expect([jobs, await world.runTimes()]).toEqual([0, ['01-01T03:00']]);
  });
});

it('leaves a schedule that another session has locked to a later round', async () => {
  await world.declare({ first: { cron: '0 3 * * *' }, second: { cron: '0 3 * * *' } });
  await world.setClock('2027-01-01T03:00:00Z');
  const client = await pool.connect();
  await client.query(`begin; select from millrace.schedules where name = 'first' for update`);

  const during = await world.round();
  await client.query('rollback');
  client.release();
  const after = await world.round();

  expect([during, after]).toEqual([1, 1]);
});

it('one schedule whose job the database refuses does not stop the others', async () => {
  await pool.query(`alter table millrace.jobs_live add constraint odd check (group_key <> 'odd')`);
  const times = { cron: '0 3 * * *' };
  await world.declare({ first: times, odd: { ...times, groupKey: 'odd' }, third: times });
  await world.setClock('2027-01-01T03:00:00Z');

  const jobs = await world.round();

  await pool.query('alter table millrace.jobs_live drop constraint odd');
  expect(jobs).toBe(2);
  expect(log.events('schedule_failed')).toMatchObject([{ schedule: 'odd' }]);
  expect(await world.round()).toBe(1);
});

it('ends a round in its time when every schedule catches up a hundred ticks', async () => {
  await pool.query(`insert into millrace.schedules (name, job_type, every_seconds, catch_up, since)
    select 'tenant-' || n, 'report', 60, 'all(100)', millrace.clock() - interval '1 day'
      from generate_series(1, 50) n`);
  let statements = 0;
  const limited: typeof db.limited = (limits) => {
    statements += 1;
    return db.limited(limits);
  };

  const short = await world.round({ db: { ...db, limited }, now: () => statements * 250 });
  const rest = await world.round({ db: { ...db, limited }, now: () => 0 });

  expect([short, rest]).toEqual([2000, 3000]);
});

it('enqueues 10,000 jobs that are due at once in statements of a thousand, and ends a round in its time', async () => {
  await pool.query(`insert into millrace.schedules (name, job_type, cron)
    select 'tenant-' || n, 'report', (n % 60) || ' * * * *' from generate_series(1, 10000) n`);
  await world.setClock('2027-01-01T01:00:00Z');
  let statements = 0;
  const limited: typeof db.limited = (limits) => {
    statements += 1;
    return db.limited(limits);
  };
  const counted = { ...db, limited };
  // Half a second has passed when two statements have been made.
  const short = await world.round({ db: counted, now: () => statements * 250 });
  const inShort = statements;
  statements = 0;
  const long = await world.round({ db: counted, now: () => 0 });

  expect([short, inShort]).toEqual([2000, 2]);
  expect([long, statements]).toEqual([8000, 8]);
  expect(await world.round()).toBe(0);
});
