import { expect, it } from 'vitest';
import type { ScheduleOptions } from '../../../core/handler/schedule.ts';
import { declaredDifferences } from '../../../core/registry/declared-differences.ts';
import { registrationsOf } from '../../support/runtime-engine.ts';
import { openScheduleWorld } from '../schedules/schedule-world.ts';

const world = await openScheduleWorld();
const { pool, db } = world;

const DECLARED = { nightly: { cron: '0 3 * * *', payload: { b: 1, a: [2.5] }, spread: '5m' }, hourly: { every: '1h' } };
const compare = (schedules: Readonly<Record<string, ScheduleOptions>>) =>
  declaredDifferences(
    db,
    registrationsOf([{ jobType: 'report', schedules }]).map(({ definition }) => definition),
  );

it('finds no difference after a deployment, whatever was created and paused at run time', async () => {
  await world.declare(DECLARED);
  await pool.query(`select millrace.create_schedule('tenant', 'report', every => '1 hour');
    select millrace.pause_schedule('nightly')`);

  expect(await compare({ ...DECLARED, nightly: { ...DECLARED.nightly, payload: { a: [2.5], b: 1 } } })).toEqual([]);
});

it('names schedules that are missing on one side, and options that differ', async () => {
  await world.declare(DECLARED);

  const found = await compare({
    nightly: { cron: '0 4 * * *', zone: 'Europe/Berlin', payload: { b: 2 }, spread: '5m', uniqueKey: 'k' },
    weekly: { cron: '0 3 * * 1' },
  });

  expect(found).toEqual([
    'weekly is in the code but not registered',
    'hourly is registered but not in the code',
    'nightly: cron is 0 3 * * *, but 0 4 * * * in the code',
    'nightly: zone is UTC, but Europe/Berlin in the code',
    'nightly: uniqueKey is not set, but k in the code',
    'nightly: the payload differs from the code',
  ]);
});
