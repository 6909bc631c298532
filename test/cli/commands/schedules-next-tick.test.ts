import { beforeEach, expect, it } from 'vitest';
import { deploy } from '../../support/runtime-engine.ts';
import { openBothWays } from '../backend/api-world.ts';

const { pool, db, byApi, byDatabase } = await openBothWays();

beforeEach(async () => {
  await pool.query('delete from millrace.schedules');
  await deploy(db, { jobType: 'mail' });
});

const create = (name: string, times: string) =>
  pool.query(`select millrace.create_schedule('${name}', 'mail', ${times})`);

/** Returns the last cell of each row that both ways print. */
async function nextTicks(args: readonly string[]): Promise<string[]> {
  const printed = [await byDatabase(args), await byApi(args)];
  return printed.flatMap(({ stdout }) => {
    const rows = stdout.split('\n').filter((line) => line.includes('\t'));
    return rows.map((row) => row.split('\t').at(-1) ?? '');
  });
}

it('a resumed schedule is printed with its next tick, before the dispatcher has computed it', async () => {
  await create('leap', `cron => '0 3 29 2 *', zone => 'UTC'`);
  await pool.query(`select millrace.pause_schedule('leap')`);
  const paused = await nextTicks(['schedules']);

  const resumed = await nextTicks(['schedules', 'resume', 'leap']);
  const listed = await nextTicks(['schedules']);

  const { rows } = await pool.query<{ next: string }>(`select next_tick_at::text as next from millrace.schedules`);
  expect(rows).toEqual([{ next: '-infinity' }]);
  expect(paused).toEqual(['-', '-']);
  expect([...resumed, ...listed]).toEqual(Array(4).fill(expect.stringMatching(/^20\d\d-02-29T03:00:00/)));
  expect(new Set([...resumed, ...listed]).size).toBe(1);
});

it('a new schedule is listed with its next tick, an interval from the start of an hour', async () => {
  await create('hourly', `every => '1 hour'`);

  const listed = await nextTicks(['schedules']);

  expect(listed).toEqual(Array(2).fill(expect.stringMatching(/:00:00/)));
});

it.each([
  ['a paused schedule', `cron => '0 3 * * *'`, `select millrace.pause_schedule('one')`],
  ['a schedule without ticks', `cron => '0 3 * * *'`, `update millrace.schedules set fault = 'no'`],
  ['an invalid expression that SQL stored', `cron => '61 3 * * *'`, 'select 1'],
  [
    'a schedule without a further tick',
    `cron => '0 3 * * *'`,
    `update millrace.schedules set next_tick_at = 'infinity'`,
  ],
])('%s is listed without a next tick', async (_what, times, change) => {
  await create('one', times);
  await pool.query(change);

  expect(await nextTicks(['schedules'])).toEqual(['-', '-']);
});

it('a tick that was due before a dispatcher ran is the next one', async () => {
  await create('old', `cron => '0 3 * * *'`);
  await pool.query(`update millrace.schedules set since = '2026-01-05 00:00Z'`);

  expect(await nextTicks(['schedules'])).toEqual(Array(2).fill(expect.stringMatching(/^2026-01-05T03:00:00/)));
});
