import { beforeEach, expect, it } from 'vitest';
import { renderMetrics } from '../../../core/numbers/prometheus.ts';
import { deploy } from '../../support/runtime-engine.ts';
import { openBothWays } from '../backend/api-world.ts';

const { pool, db, byApi, byDatabase } = await openBothWays();

beforeEach(async () => {
  await pool.query('delete from millrace.schedules');
  await deploy(db, { jobType: 'mail' });
});

const create = (name: string, jobType = 'mail') =>
  pool.query(`select millrace.create_schedule('${name}', '${jobType}', cron => '0 3 * * *')`);

/** Returns the lines of `doctor` about schedules, by the database and by the API. */
async function diagnose(): Promise<string[]> {
  const found = [await byDatabase(['doctor']), await byApi(['doctor'])];
  return found.map(({ stdout }) => stdout.split('\n').find((line) => line.includes('\tschedules\t')) ?? '');
}

async function states(): Promise<string[]> {
  const text = await renderMetrics(db, { version: '1', node: '1' });
  return [...text.matchAll(/^millrace_schedules\{state="(\w+)"\} ([1-9]\d*)$/gm)].map(
    ([, state, n]) => `${state} ${n}`,
  );
}

it('doctor passes without schedules, and with active and paused ones', async () => {
  const none = await diagnose();
  for (const name of ['one', 'two', 'three']) await create(name);
  await pool.query(`select millrace.pause_schedule('two')`);

  const some = await diagnose();

  expect(none).toEqual(Array(2).fill('OK\tschedules\tnone'));
  expect(some).toEqual(Array(2).fill('OK\tschedules\t2 active, 1 paused'));
  expect(await states()).toEqual(['active 2', 'paused 1']);
});

it.each([
  [
    'a schedule whose tick is late',
    `update millrace.schedules set next_tick_at = millrace.clock() - interval '3 minutes', since = '2020-01-01'`,
    'late: nightly',
    'late 1',
  ],
  [
    'a new schedule that no dispatcher has read',
    `update millrace.schedules set since = millrace.clock() - interval '3 minutes'`,
    'late: nightly',
    'late 1',
  ],
  [
    'a schedule without a handler',
    `update millrace.schedules set job_type = 'gone'`,
    'without a handler: nightly',
    'no_handler 1',
  ],
])('doctor and the metrics report %s', async (_what, change, detail, metric) => {
  await create('nightly');
  await pool.query(change);

  const lines = await diagnose();

  expect(lines).toEqual(Array(2).fill(`FAIL\tschedules\t${detail}: npx millrace schedules`));
  expect(await states()).toEqual([metric]);
});

it('doctor names the first five of many', async () => {
  for (let n = 1; n <= 7; n++) await create(`tenant-${n}`, 'gone');

  const lines = await diagnose();

  const names = 'tenant-1, tenant-2, tenant-3, tenant-4, tenant-5 and 2 more';
  expect(lines).toEqual(Array(2).fill(`FAIL\tschedules\twithout a handler: ${names}: npx millrace schedules`));
});

it('doctor states why schedules have no ticks, and names the next command', async () => {
  for (const name of ['hourly', 'nightly', 'weekly']) await create(name);
  const zone = 'zone: expected an IANA time zone, got "Mars"';
  await pool.query(
    `update millrace.schedules set fault = case name when 'hourly' then $1 else $2 end
    where name <> 'weekly'`,
    [zone, `cron:\nno${'o'.repeat(900)}`],
  );

  const lines = await diagnose();

  const next = 'npx millrace schedules delete hourly, and create it again';
  const reasons = `hourly (${zone}), nightly (cron: no${'o'.repeat(191)}…)`;
  expect(lines).toEqual(Array(2).fill(`FAIL\tschedules\twithout ticks: ${reasons}: ${next}`));
  expect(await states()).toEqual(['active 1', 'failed 2']);
});

it('doctor states the reasons of the first five of many schedules without ticks', async () => {
  for (let n = 1; n <= 7; n++) await create(`tenant-${n}`);
  await pool.query(`update millrace.schedules set fault = 'bad ' || name`);

  const lines = await diagnose();

  const reasons = [1, 2, 3, 4, 5].map((n) => `tenant-${n} (bad tenant-${n})`).join(', ');
  const detail = `without ticks: ${reasons} and 2 more: npx millrace schedules delete tenant-1, and create it again`;
  expect(lines).toEqual(Array(2).fill(`FAIL\tschedules\t${detail}`));
});
