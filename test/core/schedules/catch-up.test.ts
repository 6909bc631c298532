import { describe, expect, it } from 'vitest';
import { openTimetable } from '../../../core/handler/cron.ts';
import type { CatchUp } from '../../../core/handler/schedule.ts';
import { dueTicks } from '../../../core/schedules/due-ticks.ts';
import { findSchedule } from '../../../core/schedules/list-schedules.ts';
import { openScheduleWorld } from './schedule-world.ts';

const world = await openScheduleWorld();
const { pool, db } = world;

describe('after an outage of two days, a schedule with the catch-up', () => {
  it.each([
    ['none', [], ['01-03T16:00']],
    ['latest', ['01-03T15:00'], ['01-03T16:00']],
    ['all(1)', ['01-03T15:00'], ['01-03T16:00']],
    ['all(3)', ['01-03T13:00', '01-03T14:00', '01-03T15:00'], ['01-03T16:00']],
  ] as [CatchUp, string[], string[]][])(
    '%s enqueues the last ticks that it asks for',
    async (catchUp, caught, next) => {
      await world.declare({ hourly: { cron: '0 * * * *', catchUp } });
      await world.setClock('2027-01-01T15:00:00Z');
      await world.round();
      await world.finishJobs();
      await world.setClock('2027-01-03T15:30:00Z');
      await world.round();
      const first = await world.runTimes();
      await world.setClock('2027-01-03T16:00:01Z');
      await world.finishJobs();

      await world.round();

      expect(first).toEqual(caught);
      expect(await world.runTimes()).toEqual(next);
    },
  );

  it('all(100) enqueues all 48 ticks, if there are no more', async () => {
    await world.declare({ hourly: { cron: '0 * * * *', catchUp: 'all(100)' } });
    await world.setClock('2027-01-03T00:30:00Z');

    expect(await world.round()).toBe(48);
  });
});

it('a tick is on time within the two minutes in which an idle dispatcher makes a round', async () => {
  await world.declare({ hourly: { cron: '0 * * * *', catchUp: 'none' } });
  await world.setClock('2027-01-01T01:02:00Z');
  const inTime = await world.round();
  await world.setClock('2027-01-01T02:02:01Z');

  const late = await world.round();

  expect([inTime, late]).toEqual([1, 0]);
});

it('an outage of ten years costs no more than one of a day', () => {
  const [after, now] = [Date.parse('2017-01-01T00:00:00Z'), Date.parse('2027-01-01T00:00:00Z')];
  const timetable = openTimetable({ cron: '* * * * *', everySeconds: null, zone: 'Europe/Berlin' });
  let searches = 0;
  const counted = { next: (time: number) => ++searches && timetable.next(time) };

  const ticks = dueTicks(counted, 'all(100)', { after, now });

  expect(ticks).toHaveLength(100);
  expect(ticks.at(-1)).toBe(now);
  expect(searches).toBeLessThan(1500);
});

it('a new schedule has no ticks before its creation, and all after it', async () => {
  await world.setClock('2027-01-01T02:59:59Z');
  await pool.query(`select millrace.create_schedule('nightly', 'report', cron => '0 3 * * *')`);
  await world.setClock('2027-01-01T03:10:00Z');

  await world.round();

  expect(await world.runTimes()).toEqual(['01-01T03:00']);
});

describe('the clock of the database', () => {
  it('makes no tick twice when it is set back', async () => {
    await world.declare({ hourly: { cron: '0 * * * *', catchUp: 'all(100)' } });
    for (const at of ['01:00:00', '02:00:00', '00:30:00', '01:00:00', '01:59:00', '02:00:00', '03:00:00']) {
      await world.setClock(`2027-01-01T${at}Z`);
      await world.round();
    }

    expect(await world.runTimes()).toEqual(['01-01T01:00', '01-01T02:00', '01-01T03:00']);
  });

  it('stops no schedule when it was ahead for a while', async () => {
    await world.declare({ hourly: { cron: '0 * * * *', catchUp: 'latest' } });
    await world.round();
    await world.setClock('2027-03-01T12:30:00Z');
    await world.round();
    for (const at of ['00:30:00', '01:00:00', '02:00:00']) {
      await world.setClock(`2027-01-01T${at}Z`);
      await world.round();
    }

    expect(await world.runTimes()).toEqual(['01-01T01:00', '01-01T02:00', '03-01T12:00']);
  });

  it('shows the newest job and a tick of the past when it is set back', async () => {
    await world.declare({ hourly: { cron: '0 * * * *' } });
    for (const at of ['01T01:00:00', '01T02:00:00', '01T00:30:00']) {
      await world.setClock(`2027-01-${at}Z`);
      await world.round();
    }
    await world.setClock('2027-01-01T01:30:00Z');
    await pool.query(`select millrace.run_schedule('hourly')`);

    const shown = await findSchedule(db, 'hourly');

    const { rows } = await pool.query('select max(id)::text as id from millrace.jobs_live');
    expect(shown?.lastJobId).toBe(rows[0].id);
    expect(shown?.lastTickAt).toEqual(new Date('2027-01-01T01:30:00Z'));
  });

  it('makes the ticks that it passed when it is set forward', async () => {
    await world.declare({ hourly: { cron: '0 * * * *', catchUp: 'all(2)' } });
    await world.round();
    await world.setClock('2027-01-01T05:00:00Z');

    await world.round();

    expect(await world.runTimes()).toEqual(['01-01T04:00', '01-01T05:00']);
  });

  it('decides alone, whatever time the dispatcher has', async () => {
    await world.declare({ hourly: { cron: '0 * * * *' } });
    await world.setClock('2031-01-01T00:59:59Z');
    await world.round();
    const before = await world.runTimes();
    await world.setClock('2031-01-01T01:00:00Z');
    await world.round();

    expect(before).toEqual(['01-01T00:00']);
    expect(await world.runTimes()).toEqual(['01-01T00:00', '01-01T01:00']);
  });
});

it('makes one tick a day over both changes of the clock', async () => {
  await world.declare({ nightly: { cron: '30 2 * * *', zone: 'America/New_York', catchUp: 'all(100)' } });
  await world.setClock('2027-03-12T12:00:00Z');
  await pool.query(`update millrace.schedules set since = millrace.clock()`);
  await world.round();
  await world.setClock('2027-03-16T12:00:00Z');
  await world.round();
  const spring = await world.runTimes();
  await world.finishJobs();
  await world.setClock('2027-11-09T12:00:00Z');
  await pool.query(`update millrace.schedules set next_tick_at = '2027-11-06T06:30:00Z'`);
  await world.round();

  expect(spring).toEqual(['03-13T07:30', '03-14T07:00', '03-15T06:30', '03-16T06:30']);
  expect(await world.runTimes()).toEqual(['11-06T06:30', '11-07T07:30', '11-08T07:30', '11-09T07:30']);
});
