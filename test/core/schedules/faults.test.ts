import { expect, it } from 'vitest';
import { openScheduleWorld } from './schedule-world.ts';

const world = await openScheduleWorld();
const { pool, log } = world;

it('a stored expression that never matches is a fault of its schedule, and stops no other', async () => {
  await pool.query(`select millrace.create_schedule('odd', 'report', cron => '0 0 30 2 *');
    select millrace.create_schedule('words', 'report', cron => 'a b c d e');
    select millrace.create_schedule('mars', 'report', cron => '0 3 * * *', zone => 'Mars/Olympus');
    select millrace.create_schedule('good', 'report', cron => '0 3 * * *')`);
  await world.setClock('2027-01-01T03:00:00Z');

  const rounds = [await world.round(), await world.round()];

  const { rows } = await pool.query('select name from millrace.schedules where fault is not null order by name');
  expect(rounds).toEqual([1, 0]);
  expect(rows.map(({ name }) => name)).toEqual(['mars', 'odd', 'words']);
  expect(log.events('schedule_invalid')).toHaveLength(3);
});

it.each([
  ['cron', `${'😀'.repeat(60)} * * * *`, 'UTC'],
  ['cron at another position', `x${'😀'.repeat(60)} * * * *`, 'UTC'],
  ['zone', '* * * * *', `a${'😀'.repeat(60)}`],
  ['zone at another position', '* * * * *', `ax${'😀'.repeat(60)}`],
])('stores the fault of a %s with characters that JavaScript counts twice', async (_what, cron, zone) => {
  const create = `select millrace.create_schedule('odd', 'report', cron => $1, zone => $2)`;
  await pool.query(create, [cron, zone]);

  const rounds = [await world.round(), await world.round()];

  const { rows } = await pool.query('select name from millrace.schedules where fault is not null');
  expect([rounds, rows]).toEqual([[0, 0], [{ name: 'odd' }]]);
  expect(log.events('schedule_invalid')).toHaveLength(1);
});
