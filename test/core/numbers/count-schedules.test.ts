import { expect, it } from 'vitest';
import { maintain } from '../../../core/dispatch/maintain.ts';
import type { MetricValues } from '../../../core/numbers/emf.ts';
import { createClient } from '../../support/database.ts';
import { openScheduleWorld } from '../schedules/schedule-world.ts';

const world = await openScheduleWorld();
const { pool, db, log, test } = world;
const published: MetricValues[] = [];

/** Does the upkeep of a dispatcher, and returns what it publishes about late schedules. */
async function publish(): Promise<MetricValues[]> {
  published.length = 0;
  await maintain({ db, log, reported: new Set(), metrics: { put: (values) => published.push(values) } });
  expect(log.events('maintain_failed')).toEqual([]);
  return published.filter((values) => 'LateSchedules' in values);
}

it('nothing is published without schedules', async () => {
  await world.declare({});

  expect(await publish()).toEqual([]);
  expect(published).toEqual([{ OldestDueAge: 0, StalledHandlers: 0 }]);
});

it('a schedule whose job cannot be enqueued is late after 2 minutes, until its job is enqueued', async () => {
  await world.declare({ hourly: { cron: '0 * * * *', uniqueKey: 'hourly' }, 'hourly-too': { cron: '0 * * * *' } });
  await world.round();
  const application = await createClient(test.url);
  await application.query(`begin; select millrace.enqueue('report', unique_key => 'hourly')`);
  await world.setClock('2027-01-01T01:00:00Z');
  await world.round();
  const atOnce = await publish();
  await world.setClock('2027-01-01T01:02:01Z');
  await world.round();

  const later = await publish();
  await application.query('rollback');
  await world.round();

  expect(atOnce).toEqual([{ LateSchedules: 0 }]);
  expect(later).toEqual([{ LateSchedules: 1 }]);
  expect(await publish()).toEqual([{ LateSchedules: 0 }]);
});

it.each([
  ['is new', ''],
  ['is paused', `update millrace.schedules set next_tick_at = '2026-01-01', since = '2026-01-01', paused_at = now()`],
  ['has no ticks', `update millrace.schedules set next_tick_at = '2026-01-01', since = '2026-01-01', fault = 'why'`],
  [
    'has no handler',
    `update millrace.schedules set next_tick_at = '2026-01-01', since = '2026-01-01', job_type = 'gone'`,
  ],
])('a schedule that %s is not late', async (_what, change) => {
  await world.declare({ hourly: { cron: '0 * * * *' } });
  await pool.query(change);

  expect(await publish()).toEqual([{ LateSchedules: 0 }]);
});
