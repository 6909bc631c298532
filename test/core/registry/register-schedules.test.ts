import { expect, it } from 'vitest';
import type { ScheduleOptions } from '../../../core/handler/schedule.ts';
import { writeRegistry } from '../../../core/registry/prepare.ts';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { checkSchedules } from '../../../core/registry/register-schedules.ts';
import { deploy, recordLog, registrationsOf } from '../../support/runtime-engine.ts';
import { openScheduleWorld } from '../schedules/schedule-world.ts';

const world = await openScheduleWorld();
const { pool, db } = world;

const NIGHTLY = { cron: '0 3 * * *' };
const rows = async () =>
  (
    await pool.query(`select name, cron, declared, paused_at is not null as paused, catch_up, payload
      from millrace.schedules order by name`)
  ).rows;

it('stores what a handler file declares', async () => {
  await world.declare({ nightly: { ...NIGHTLY, zone: 'Europe/Berlin', payload: { a: 1 }, catchUp: 'all(3)' } });

  const { rows: stored } = await pool.query('select * from millrace.schedules');

  expect(stored).toMatchObject([
    { name: 'nightly', job_type: 'report', cron: '0 3 * * *', zone: 'Europe/Berlin', payload: { a: 1 } },
  ]);
  expect(stored).toMatchObject([{ catch_up: 'all(3)', overlap: 'allow', spread_seconds: 0, priority: 5 }]);
});

it('a changed expression makes none of its past ticks', async () => {
  await world.declare({ nightly: { ...NIGHTLY, catchUp: 'all(100)' } });
  await world.round();
  await world.setClock('2027-01-01T12:00:00Z');
  await world.declare({ nightly: { cron: '0 * * * *', catchUp: 'all(100)' } });
  await world.round();
  const before = await world.runTimes();
  await world.setClock('2027-01-01T13:00:00Z');

  await world.round();

  expect(before).toEqual([]);
  expect(await world.runTimes()).toEqual(['01-01T13:00']);
});

it('a deployment that changes no time loses no tick that is due', async () => {
  await world.declare({ nightly: NIGHTLY });
  await world.round();
  await world.setClock('2027-01-01T03:00:10Z');

  await world.declare({ nightly: { ...NIGHTLY, payload: { b: 2 } } });

  expect(await world.round()).toBe(1);
  expect((await pool.query('select payload from millrace.jobs')).rows).toEqual([{ payload: { b: 2 } }]);
});

it('a deployment while a round computes ticks leaves the ticks to the next round', async () => {
  await world.declare({ nightly: NIGHTLY });
  await world.round();
  await world.setClock('2027-01-01T03:00:10Z');
  const limited: typeof db.limited = (limits) => ({
    query: async (text, values) => {
      await world.declare({ nightly: { cron: '0 9 * * *' } });
      return db.limited(limits).query(text, values);
    },
  });

  const jobs = await world.round({ db: { ...db, limited } });

  expect([jobs, await world.ticks()]).toEqual([0, []]);
});

it('a removed schedule stops, and its waiting jobs stay', async () => {
  await world.declare({ nightly: NIGHTLY, hourly: { cron: '0 * * * *' } });
  await world.setClock('2027-01-01T01:00:00Z');
  await world.round();

  await world.declare({ nightly: NIGHTLY });
  await world.setClock('2027-01-01T02:00:00Z');

  expect(await world.round()).toBe(0);
  expect((await rows()).map(({ name }) => name)).toEqual(['nightly']);
  expect(await world.runTimes()).toEqual(['01-01T01:00']);
});

it('a paused schedule stays paused over deployments, and catches up nothing when it is resumed', async () => {
  await world.declare({ nightly: { ...NIGHTLY, catchUp: 'all(100)' } });
  await pool.query(`select millrace.pause_schedule('nightly')`);
  await world.declare({ nightly: { cron: '0 4 * * *', catchUp: 'all(100)' } });
  await world.setClock('2027-01-05T12:00:00Z');
  const whilePaused = await world.round();
  await pool.query(`select millrace.resume_schedule('nightly')`);
  const resumed = await world.round();
  await world.setClock('2027-01-06T04:00:00Z');

  const next = await world.round();

  expect([whilePaused, resumed, next]).toEqual([0, 0, 1]);
  expect(await world.runTimes()).toEqual(['01-06T04:00']);
});

it('a declared schedule that was removed while it was paused is paused when it returns, as by a rollback', async () => {
  await world.declare({ nightly: NIGHTLY, hourly: { cron: '0 * * * *' } });
  await pool.query(`select millrace.pause_schedule('nightly')`);
  await world.declare({});
  await world.declare({ nightly: NIGHTLY, hourly: { cron: '0 * * * *' } });
  const returned = await rows();
  await pool.query(`select millrace.resume_schedule('nightly')`);
  await world.declare({});
  await world.declare({ nightly: NIGHTLY });

  expect(returned).toMatchObject([
    { name: 'hourly', paused: false },
    { name: 'nightly', paused: true },
  ]);
  expect(await rows()).toMatchObject([{ name: 'nightly', paused: false }]);
});

it('a deployment neither changes nor removes a schedule that was created at run time', async () => {
  await pool.query(`select millrace.create_schedule('tenant-7', 'report', cron => '0 6 * * *')`);

  await world.declare({ nightly: NIGHTLY });
  await deploy(db, { jobType: 'report' });

  expect(await rows()).toMatchObject([{ name: 'tenant-7', declared: false }]);
});

it('refuses to declare the name of a schedule that was created at run time, and changes nothing', async () => {
  await world.declare({ nightly: NIGHTLY });
  await pool.query(`select millrace.create_schedule('tenant-7', 'report', cron => '0 6 * * *')`);
  const before = await rows();
  const declared = registrationsOf([{ jobType: 'report', schedules: { 'tenant-7': NIGHTLY } }]);
  const message =
    /^created at run time, and declared by a handler: tenant-7\. Delete it \(npx millrace schedules delete/;

  await expect(world.declare({ 'tenant-7': NIGHTLY })).rejects.toThrow(message);
  await expect(
    checkSchedules(
      db,
      declared.map(({ definition }) => definition),
    ),
  ).rejects.toThrow(message);

  expect(await rows()).toEqual(before);
});

it('a deployment logs what it added, changed and removed', async () => {
  const log = recordLog();
  const target = { home: { stage: 'local' }, queueUrlPrefix: 'http://127.0.0.1:1/0/', log };
  const write = (schedules: Readonly<Record<string, ScheduleOptions>>) =>
    writeRegistry(
      db,
      registrationsOf([{ jobType: 'report', schedules }]).map(({ definition }) => definition),
      target,
    );

  await write({ nightly: NIGHTLY, hourly: { every: '1h' } });
  await write({ nightly: { cron: '0 4 * * *' }, hourly: { every: '1h', spread: '5m' } });
  await write({ hourly: { every: '1h' } });

  expect(log.events('schedules_deployed').map(({ schedules }) => schedules)).toEqual([
    'hourly was added, nightly was added',
    'nightly was changed: its ticks begin now',
    'nightly was removed',
  ]);
});

it('a registration of a part of the handlers removes no schedule of the others', async () => {
  await world.declare({ nightly: NIGHTLY });
  await pool.query(`select millrace.pause_schedule('nightly')`);

  const mail = registrationsOf([{ jobType: 'mail', schedules: { hourly: { every: '1h' } } }]);
  await registerHandlers({ db, stage: 'local', isPartial: true }, mail);

  expect((await rows()).map(({ name, paused }) => [name, paused])).toEqual([
    ['hourly', false],
    ['nightly', true],
  ]);
});

it('refuses two handlers that declare one name', async () => {
  const twice = ['report', 'mail'].map((jobType) => ({ jobType, schedules: { nightly: NIGHTLY } }));

  await expect(deploy(db, ...twice)).rejects.toThrow(/^two handlers declare the schedule nightly/);
});

it('a deployment that mends a faulty schedule starts it again', async () => {
  await world.declare({ nightly: NIGHTLY });
  await pool.query(`update millrace.schedules set cron = '0 0 30 2 *'`);
  await world.round();
  const faults = await pool.query('select fault is not null as faulty from millrace.schedules');

  await world.declare({ nightly: NIGHTLY });
  await world.setClock('2027-01-01T03:00:00Z');

  expect(faults.rows).toEqual([{ faulty: true }]);
  expect(await world.round()).toBe(1);
});
