import { describe, expect, it } from 'vitest';
import { deleteJob } from '../../core/jobs/delete.ts';
import { historyPrunes } from '../../core/upkeep/prune.ts';
import { createClient } from '../support/database.ts';
import { openUniqueWorld } from './unique-world.ts';

const { pool, db, appUrl, enqueue, move } = await openUniqueWorld();

/** The jobs that hold the key, by the index and by the table. */
const HOLDERS = `
  select id from millrace.jobs_live where unique_key = 'k' and unique_until is null
  union all select job_id from millrace.unique_keys where millrace.holds_key(job_id, until, ends_at)`;
/** What makes a job pending again after its hold has ended. */
const RETURNS = [
  ['dead_letter', (id: string) => pool.query('select millrace.retry($1)', [id])],
  [
    'dispatched',
    (id: string) =>
      pool.query(
        `update millrace.jobs_live set status = 'pending', claim_no = null, lease_expires_at = null where id = $1`,
        [id],
      ),
  ],
] as const;

describe.each(RETURNS)('a job that was %s and is pending again', (until, comeBack) => {
  const options = `unique_key => 'k', unique_until => '${until}'`;

  it.each([
    `unique_key => 'k'`,
    `unique_key => 'k', unique_until => 'dispatched'`,
    `unique_key => 'k', unique_until => 'dead_letter'`,
    `unique_key => 'k', unique_for => '1h'`,
  ])('leaves its key to another job with %s', async (other) => {
    const first = await enqueue(options);
    await move(until);
    const second = await enqueue(other);
    expect(second).toMatchObject({ deduplicated: false });

    await comeBack(first.id);

    expect((await pool.query(HOLDERS)).rows).toEqual([{ id: second.id }]);
    expect(await enqueue(options)).toEqual({ id: second.id, deduplicated: true, replaced: false });
  });

  it('holds its key again, also after a pass of the upkeep', async () => {
    const first = await enqueue(options);
    await move(until);
    await historyPrunes(3600).unique_keys(db, null);

    await comeBack(first.id);

    expect(await enqueue(options)).toEqual({ id: first.id, deduplicated: true, replaced: false });
  });
});

it('one of many callers at once gets the key of a dead job, whatever the end of their keys', async () => {
  const first = await enqueue(`unique_key => 'k', unique_until => 'dead_letter'`);
  await move('dead_letter');

  const others = ['', `, unique_for => '1h'`, `, unique_until => 'dispatched'`];
  const verdicts = await Promise.all(
    Array.from({ length: 18 }, (_, n) => enqueue(`unique_key => 'k'${others[n % others.length]}`)),
  );
  await pool.query('select millrace.retry($1)', [first.id]);

  expect(verdicts.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
  expect((await pool.query(HOLDERS)).rows).toEqual([{ id: verdicts[0]?.id }]);
});

describe('a cancelled job with unique_for', () => {
  const options = `unique_key => 'k', unique_for => '1h'`;

  it('holds no key after it was deleted or its day was pruned', async () => {
    const first = await enqueue(options);
    await move('cancelled');
    expect(await deleteJob(db, first.id)).toBe('deleted');

    expect(await enqueue(options)).toMatchObject({ deduplicated: false });
  });
});

it.each([`unique_until => 'dispatched'`, `unique_until => 'dead_letter'`, `unique_for => '1h'`])(
  'replace with %s waits for an unfinished cancel of the job, and inserts another one',
  async (end) => {
    const first = await enqueue(`unique_key => 'k', ${end}`, { n: 1 });
    const client = await createClient(appUrl);
    await client.query('begin');
    await client.query('select millrace.cancel($1)', [first.id]);

    const replacing = enqueue(`unique_key => 'k', ${end}, on_conflict => 'replace'`, { n: 2 });
    await expect
      .poll(
        async () =>
          (
            await pool.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock'
        and datname = current_database()`)
          ).rowCount,
      )
      .toBe(1);
    await client.query('commit');

    expect(await replacing).toMatchObject({ deduplicated: false, replaced: false });
    expect((await pool.query('select payload from millrace.jobs_live')).rows).toEqual([{ payload: { n: 2 } }]);
  },
);

it('an update by hand cannot change the key of a job with unique_until', async () => {
  await enqueue(`unique_key => 'k', unique_until => 'dispatched'`);

  await expect(pool.query(`update millrace.jobs set unique_key = 'other'`)).rejects.toMatchObject({
    code: '55000',
    message: 'unique_key: the key of a job with unique_for or unique_until does not change',
  });
  await pool.query(`update millrace.jobs set unique_key = 'k', priority = 1`);
  await pool.query('delete from millrace.jobs_live; delete from millrace.unique_keys');
  await enqueue(`unique_key => 'k'`);
  await pool.query(`update millrace.jobs set unique_key = 'other'`);

  expect(await enqueue(`unique_key => 'k'`)).toMatchObject({ deduplicated: false });
});
