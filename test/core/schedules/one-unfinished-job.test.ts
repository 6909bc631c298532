import { describe, expect, it } from 'vitest';
import type { Overlap } from '../../../core/handler/schedule.ts';
import { historyPrunes } from '../../../core/upkeep/prune.ts';
import { openScheduleWorld } from './schedule-world.ts';

const world = await openScheduleWorld();
const { pool, db } = world;

const roundAt = async (time: string) => {
  await world.setClock(`2027-01-01T${time}Z`);
  return world.round();
};
const declare = (overlap: Overlap) => world.declare({ hourly: { cron: '0 * * * *', overlap, catchUp: 'all(5)' } });
const setStatus = (set: string) => pool.query(`update millrace.jobs_live set ${set}`);

describe.each(['skip', 'queue-one'] as const)(
  'a schedule with the overlap %s has at most one unfinished job',
  (overlap) => {
    const unfinished = async () => {
      const { rows } = await pool.query(
        `select count(*)::int as jobs from millrace.jobs_live where status <> 'dead_letter'`,
      );
      return rows[0].jobs;
    };
    const runHourly = (times: number) =>
      pool.query(`select millrace.cancel(millrace.run_schedule('hourly')) from generate_series(1, $1)`, [times]);

    it('after the clock is set back by more than five ticks', async () => {
      await declare(overlap);
      for (const hour of ['01', '02', '03', '04', '05', '06', '07']) {
        await roundAt(`${hour}:00:00`);
        await pool.query('select millrace.cancel(id) from millrace.jobs_live');
      }
      await pool.query('delete from millrace.schedule_ticks where tick_at < $1', ['2027-01-01T02:00:00Z']);
      await world.setClock('2026-12-31T22:30:00Z');
      await pool.query(`update millrace.schedules set since = '2026-12-31T22:00:00Z'`);
      await world.round();

      for (const at of ['2026-12-31T23:00', '2027-01-01T00:00', '2027-01-01T01:00']) {
        await world.setClock(`${at}:00Z`);
        await world.round();
      }

      expect(await unfinished()).toBe(1);
    });

    it('after people ran it five times and the clock went on', async () => {
      await declare(overlap);
      await roundAt('01:00:00');
      for (let n = 1; n <= 5; n++) {
        await world.setClock(`2027-01-01T01:0${n}:00Z`);
        await runHourly(1);
      }

      await roundAt('02:00:00');

      expect(await unfinished()).toBe(1);
    });

    it('after the upkeep pruned its ticks, if the job is unfinished', async () => {
      await declare(overlap);
      await roundAt('01:00:00');
      const prune = historyPrunes(3600).schedule_ticks;
      await pool.query(`update millrace.schedule_ticks set created_at = '2026-01-01'`);
      await prune(db, null);

      await roundAt('02:00:00');

      expect(await unfinished()).toBe(1);
    });

    it('after the ticks of five jobs that died, and after the schedule was created again', async () => {
      await world.setClock('2027-01-01T00:00:00Z');
      const create = `select millrace.create_schedule('hourly', 'report', cron => '0 * * * *', overlap => $1)`;
      await pool.query(create, [overlap]);
      for (const hour of ['01', '02', '03', '04', '05']) {
        await roundAt(`${hour}:00:00`);
        await setStatus(`status = 'dead_letter', claim_no = 1, attempts = 1`);
      }
      await roundAt('06:00:00');
      await pool.query(`select millrace.delete_schedule('hourly')`);
      await pool.query(create, [overlap]);

      await roundAt('07:00:00');

      expect(await unfinished()).toBe(1);
    });
  },
);
