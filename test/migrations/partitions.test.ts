import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { pruneFinished } from '../../core/upkeep/prune.ts';
import { createClient } from '../support/database.ts';
import { deploy, insertJobs, openEngine, shiftClock } from '../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
await deploy(db, { jobType: 'mail' });
afterAll(() => engine.close());

const DAY = 86_400;

/** Finishes `count` jobs on the day of the clock. */
async function finish(count: number): Promise<string[]> {
  const ids = await insertJobs(pool, 'mail', count);
  await pool.query('select millrace.cancel(id) from unnest($1::bigint[]) as id', [ids]);
  return ids;
}
const finished = async () => Number((await pool.query('select count(*) from millrace.jobs_finished')).rows[0].count);

describe('the ring of daily partitions', () => {
  it('has 32 slots and one for unfinished jobs, each with a primary key on id', async () => {
    const { rows } = await pool.query(`
      select c.relname, pg_get_constraintdef(k.oid) as key from pg_partition_tree('millrace.jobs') t
        join pg_class c on c.oid = t.relid left join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
        where t.isleaf order by 1`);

    expect(rows).toHaveLength(33);
    expect(new Set(rows.map(({ key }) => key))).toEqual(new Set(['PRIMARY KEY (id)']));
  });

  it('assigns consecutive days of forty years to consecutive slots', async () => {
    const { rows } = await pool.query(`
      select count(*)::int as days, count(*) filter (where slot = 1 + before % 32)::int as following,
             min(slot) as low, max(slot) as high, bool_and(slot = evening) as whole
        from (select millrace.slot_of(day) as slot, millrace.slot_of(day + interval '86399.999999 s') as evening,
                     millrace.slot_of(day - interval '1 day') as before
                from generate_series(timestamptz '2020-01-01Z', timestamptz '2059-12-31Z', interval '24 h') day) d`);

    expect(rows).toEqual([{ days: 14_610, following: 14_610, low: 1, high: 32, whole: true }]);
  });

  it('does not depend on the time zone of the session', async () => {
    const client = await createClient(engine.test.url);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('UTC', 'Pacific/Kiritimati', 'America/New_York', 'Asia/Kathmandu'),
        fc.date({ min: new Date('2020-01-01'), max: new Date('2060-01-01'), noInvalidDate: true }),
        async (zone, at) => {
          await client.query(`set timezone = '${zone}'`);

          const { rows } = await client.query('select millrace.slot_of($1::text::timestamptz) as slot', [
            at.toISOString(),
          ]);

          expect(rows[0].slot).toBe(1 + (Math.floor(at.getTime() / 1000 / DAY) % 32));
        },
      ),
      { numRuns: 40 },
    );
  });

  it('finds an unfinished or finished job by its id through the parent table', async () => {
    const [live] = await insertJobs(pool, 'mail', 1);
    const [gone] = await finish(1);

    const found = await pool.query('select id, slot > 0 as over from millrace.jobs where id = any($1) order by id', [
      [live, gone],
    ]);

    expect(found.rows).toEqual([
      { id: live, over: false },
      { id: gone, over: true },
    ]);
  });
});

describe('prune', () => {
  it('empties the days past the retention and no other', async () => {
    await pool.query('truncate millrace.jobs_finished');
    const left: number[] = [];
    for (const day of [0, 1, 2, 9]) {
      await shiftClock(pool, day * DAY);
      await finish(3);
      await pruneFinished(db, 7 * DAY);
      left.push(await finished());
    }
    await shiftClock(pool, 30 * DAY);
    await pruneFinished(db, 7 * DAY);
    await shiftClock(pool, 0);

    expect(left).toEqual([3, 6, 9, 6]);
    expect(await finished()).toBe(0);
  });

  it('keeps jobs that finish today in a slot that still contains a day of last month', async () => {
    await pool.query('truncate millrace.jobs_finished');
    await finish(2);
    await shiftClock(pool, 32 * DAY);
    const open = await createClient(engine.test.url);
    const [id] = await insertJobs(pool, 'mail', 1);
    await open.query('begin');
    await open.query('select millrace.cancel($1)', [id]);

    const pruning = pruneFinished(db, 7 * DAY);
    await open.query('commit');
    await pruning;

    const { rows } = await pool.query('select status from millrace.jobs where id = $1', [id]);
    await shiftClock(pool, 0);
    expect(rows).toEqual([{ status: 'cancelled' }]);
  });

  it('stops when a reader has locked a slot, without delaying jobs', async () => {
    await pool.query('truncate millrace.jobs_finished');
    await finish(2);
    await shiftClock(pool, 9 * DAY);
    const reader = await createClient(engine.test.url);
    await reader.query('begin');
    await reader.query('select count(*) from millrace.jobs_finished');

    const pruning = pruneFinished(db, 7 * DAY);
    await Promise.all([finish(1), pool.query(`select * from millrace.enqueue('mail')`)]);
    const { rows: pruned } = await pruning;
    await reader.query('rollback');
    const { rows: later } = await pruneFinished(db, 7 * DAY);
    await shiftClock(pool, 0);

    expect([pruned, later]).toEqual([0, 1]);
  });

  it('skips a slot that a reader has locked and empties the others', async () => {
    await pool.query('truncate millrace.jobs_finished');
    await finish(2);
    const { rows } = await pool.query('select tableoid::regclass::text as leaf from millrace.jobs_finished limit 1');
    await shiftClock(pool, DAY);
    await finish(2);
    await shiftClock(pool, 10 * DAY);
    const reader = await createClient(engine.test.url);
    await reader.query('begin');
    await reader.query(`select from ${rows[0].leaf}`);

    const { rows: pruned } = await pruneFinished(db, 7 * DAY);
    await shiftClock(pool, 0);

    expect([pruned, await finished()]).toEqual([1, 2]);
  });

  it.each([30 * DAY + 1, 31 * DAY, 365 * DAY, 3599, 0, -DAY])('refuses a retention of %d seconds', async (seconds) => {
    await expect(pruneFinished(db, seconds)).rejects.toThrow('retention: expected 1 hour to 30 days');
  });

  it.each([30 * DAY, 3600])('accepts a retention of %d seconds', async (seconds) => {
    await expect(pruneFinished(db, seconds)).resolves.toEqual({ position: null, rows: 0 });
  });
});
