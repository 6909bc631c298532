import { beforeEach, describe, expect, it } from 'vitest';
import { deploy } from '../../support/runtime-engine.ts';
import { openBothWays } from './api-world.ts';

const { pool, db, byApi, byDatabase, keyOf } = await openBothWays();
const CREATE = ['schedules', 'create'];
const NIGHTLY = ['--cron', '0 3 * * *', '--zone', 'Europe/Berlin'];
/** Digits that JavaScript would lose. */
const PAYLOAD = '{"n": 12345678901234567890.10}';

beforeEach(async () => {
  await pool.query(
    'delete from millrace.jobs_live; delete from millrace.schedules; delete from millrace.schedule_ticks',
  );
  await deploy(db, { jobType: 'mail' }, { jobType: 'any' });
  await pool.query(`select millrace.create_schedule('tenant', 'mail', '${PAYLOAD}', cron => '30 2 * * *',
      zone => 'America/New_York', catch_up => 'all(3)');
    select millrace.create_schedule('often', 'any', every => '15 minutes', overlap => 'skip', spread => '1 minute');
    select millrace.create_schedule('odd', 'gone', cron => '0 0 30 2 *');
    select millrace.pause_schedule('often')`);
});

it.each([
  [['schedules']],
  [['schedules', '--json']],
  [['schedules', '--jsonl']],
  [['schedules', '--limit', '2', '--json']],
  [['schedules', 'next', 'tenant']],
  [['schedules', 'next', 'tenant', '--count', '3', '--json']],
  [['schedules', 'next', 'often']],
  [['schedules', 'next', 'odd']],
  [['schedules', 'next', 'unknown']],
  [['schedules', 'next', 'No']],
  [['schedules', 'run', 'unknown']],
  [['schedules', 'pause', 'often', 'tenant', '--json']],
  [['schedules', 'resume', 'tenant', 'unknown']],
  [['schedules', 'resume', 'tenant', '--json']],
  [['schedules', 'delete', 'unknown', '--yes']],
  [['schedules', 'delete', 'tenant']],
  [[...CREATE, 'tenant', 'any', ...NIGHTLY]],
  [[...CREATE, 'new', 'any', '--cron', '0 0 31 4 *']],
  [[...CREATE, 'new', 'any', '--cron', '0 3 * *']],
  [[...CREATE, 'new', 'any', '--cron', '0 3 * * *', '--zone', 'Berlin']],
  [[...CREATE, 'new', 'any', '--cron', '0 3 * * *', '--catch-up', 'all']],
  [[...CREATE, 'new', 'any', '--every', '5s']],
  [[...CREATE, 'new', 'any', '{"a":', ...NIGHTLY]],
  [[...CREATE, 'new', 'any']],
])('prints the same bytes for %j by the database and by the API', async (args) => {
  const one = await byDatabase(args);
  const other = await byApi(args);

  expect({ code: other.code, stdout: other.stdout }).toEqual({ code: one.code, stdout: one.stdout });
  expect(other.stderr).toBe(one.stderr);
});

describe.each([
  ['the database', byDatabase],
  ['the API', byApi],
] as const)('by %s', (_way, run) => {
  it('creates a schedule with every option and every digit, runs it, and deletes it', async () => {
    const flags = [
      '--catch-up',
      'all(7)',
      '--overlap',
      'queue-one',
      '--spread',
      '10m',
      '--start-by',
      '2h',
      '--tick-key',
      'at',
    ];
    const job = ['--priority', '2', '--max-attempts', '3', '--unique-key', 'u', '--group-key', 'g'];
    const payload = '{"n": 0.10}';

    const created = await run([...CREATE, 'nightly', 'any', payload, ...NIGHTLY, ...flags, ...job]);
    const { rows } = await pool.query(
      `select *, payload::text as payload from millrace.schedules where name = 'nightly'`,
    );
    const ran = await run(['schedules', 'run', 'nightly']);
    const jobs = await pool.query('select job_type, priority, payload::text as payload from millrace.jobs');
    const deleted = await run(['schedules', 'delete', 'nightly', '--yes']);

    expect(created).toMatchObject({ code: 0, stdout: 'nightly\n' });
    expect(rows).toMatchObject([
      {
        ...{ job_type: 'any', payload, cron: '0 3 * * *', zone: 'Europe/Berlin', catch_up: 'all(7)' },
        ...{
          overlap: 'queue-one',
          spread_seconds: 600,
          start_by_seconds: 7200,
          tick_key: 'at',
          priority: 2,
          max_attempts: 3,
        },
        ...{ unique_key: 'u', group_key: 'g', declared: false },
      },
    ]);
    expect(ran.stdout).toMatch(/^\d+\n$/);
    expect(jobs.rows).toMatchObject([{ job_type: 'any', priority: 2 }]);
    expect(jobs.rows[0].payload).toContain('"n": 0.10');
    expect(deleted).toMatchObject({ code: 0, stderr: 'deleted nightly\n' });
  });

  it('refuses to delete a declared schedule', async () => {
    await pool.query('delete from millrace.schedules');
    await deploy(db, { jobType: 'mail', schedules: { nightly: { cron: '0 3 * * *' } } }, { jobType: 'any' });

    const { code, stderr } = await run(['schedules', 'delete', 'nightly', '--yes']);

    expect([code, stderr]).toEqual([
      5,
      'error: a handler file declares nightly: remove it there and deploy, or pause it\n',
    ]);
  });
});

it('shows a caller without payload:read no payload', async () => {
  const key = await keyOf(['jobs:read']);

  const { stdout } = await byApi(['schedules', 'next', 'tenant', '--json'], key);

  expect(JSON.parse(stdout)).toMatchObject({ schedule: 'tenant', payload_restricted: true });
  expect(JSON.parse(stdout)).not.toHaveProperty('payload');
});
