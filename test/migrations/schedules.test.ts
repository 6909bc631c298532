import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { deploy, openEngine } from '../support/runtime-engine.ts';

const { pool, db, close } = await openEngine();
afterAll(() => close());
await deploy(db, { jobType: 'report' });
beforeEach(() => pool.query('delete from millrace.schedules; delete from millrace.audit_log'));

const value = async (call: string) => (await pool.query(`select ${call} as value`)).rows[0].value;
const audit = async () =>
  (await pool.query('select action, details from millrace.audit_log order by id')).rows.map(
    ({ action, details }) => `${action} ${details.schedule}`,
  );

describe('millrace.create_schedule', () => {
  it('creates a schedule with its defaults', async () => {
    const created = await value(`millrace.create_schedule('nightly', 'report', cron => '0 3 * * *')`);

    const { rows } = await pool.query('select * from millrace.schedules');
    expect(created).toBe(true);
    expect(rows).toMatchObject([{ zone: 'UTC', catch_up: 'latest', overlap: 'allow', payload: {}, declared: false }]);
    expect(await audit()).toEqual(['create_schedule nightly']);
  });

  it('accepts an interval', async () => {
    await value(`millrace.create_schedule('often', 'report', every => '15 minutes', spread => '1 minute')`);

    const { rows } = await pool.query('select every_seconds, spread_seconds from millrace.schedules');
    expect(rows).toEqual([{ every_seconds: 900, spread_seconds: 60 }]);
  });

  it('changes nothing when the name exists', async () => {
    await value(`millrace.create_schedule('nightly', 'report', cron => '0 3 * * *')`);
    const again = await value(`millrace.create_schedule('nightly', 'mail', cron => '0 4 * * *')`);

    const { rows } = await pool.query('select job_type, cron from millrace.schedules');
    expect(again).toBe(false);
    expect(rows).toEqual([{ job_type: 'report', cron: '0 3 * * *' }]);
  });

  it.each([
    [`'Nightly', 'report', cron => '0 3 * * *'`, 'name is 1 to 100'],
    [`'nightly', 'Report', cron => '0 3 * * *'`, 'job_type is lower-case'],
    [`'nightly', 'report'`, 'a schedule has either cron or every'],
    [`'nightly', 'report', cron => '0 3 * * *', every => '1 hour'`, 'a schedule has either cron or every'],
    [`'nightly', 'report', cron => '0 3 * *'`, 'cron has five fields'],
    [`'nightly', 'report', cron => '0 0 3 * * *'`, 'cron has five fields'],
    [`'nightly', 'report', every => '1 second'`, 'every is 10 seconds to 365 days'],
    [`'nightly', 'report', cron => '0 3 * * *', catch_up => 'all'`, 'latest, or all(1) to all(100)'],
    [`'nightly', 'report', cron => '0 3 * * *', catch_up => 'all(101)'`, 'latest, or all(1) to'],
    [`'nightly', 'report', cron => '0 3 * * *', overlap => 'never'`, 'overlap is allow, skip or queue-one'],
    [`'nightly', 'report', cron => '0 3 * * *', spread => '2 days'`, 'spread is 0 seconds to 1 day'],
    [`'nightly', 'report', cron => '0 3 * * *', priority => 10`, 'priority is 0 to 9'],
    [`'nightly', 'report', cron => '0 3 * * *', payload => '[]', tick_key => 'at'`, 'tick_key is 1 to 100 characters'],
  ])('refuses %s', async (values, constraint) => {
    await expect(pool.query(`select millrace.create_schedule(${values})`)).rejects.toThrow(constraint);
  });
});

it('millrace.delete_schedule leaves declared schedules', async () => {
  await deploy(db, { jobType: 'report', schedules: { nightly: { cron: '0 3 * * *' } } });
  await value(`millrace.create_schedule('tenant', 'report', cron => '0 3 * * *')`);

  const answers = [];
  for (const name of ['nightly', 'tenant', 'tenant']) answers.push(await value(`millrace.delete_schedule('${name}')`));

  expect(answers).toEqual(['declared', 'deleted', 'not_found']);
  expect(await audit()).toEqual(['create_schedule tenant', 'delete_schedule tenant']);
});

it('millrace.pause_schedule and resume_schedule return whether they changed something', async () => {
  await value(`millrace.create_schedule('nightly', 'report', cron => '0 3 * * *')`);

  const answers = [];
  for (const verb of ['resume', 'pause', 'pause', 'resume']) {
    answers.push(await value(`millrace.${verb}_schedule('nightly')`));
  }

  expect([...answers, await value(`millrace.pause_schedule('unknown')`)]).toEqual([false, true, false, true, false]);
  expect(await audit()).toEqual(['create_schedule nightly', 'pause_schedule nightly', 'resume_schedule nightly']);
});

it('millrace.run_schedule enqueues a job at once, also of a paused schedule', async () => {
  await value(`millrace.create_schedule('nightly', 'report', '{"a": 1}', cron => '0 3 * * *', tick_key => 'at')`);
  await value(`millrace.pause_schedule('nightly')`);

  const id = await value(`millrace.run_schedule('nightly')`);

  const { rows } = await pool.query('select job_type, payload, status from millrace.jobs where id = $1', [id]);
  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(rows).toEqual([{ job_type: 'report', payload: { a: 1, at }, status: 'pending' }]);
  const ticks = await pool.query('select schedule, result, job_id from millrace.schedule_ticks');
  expect(ticks.rows).toEqual([{ schedule: 'nightly', result: 'manual', job_id: id }]);
  expect(await value(`millrace.run_schedule('unknown')`)).toBeNull();
});
