import { describe, expect, it } from 'vitest';
import { historyPrunes } from '../../core/upkeep/prune.ts';
import { createClient } from '../support/database.ts';
import { openUniqueWorld, STATES } from './unique-world.ts';

const { pool, db, appUrl, enqueue, move } = await openUniqueWorld();

const LIVE = STATES.filter((status) => status !== 'skipped' && status !== 'cancelled');
/** The statuses of a job in which it holds its key, by the options of the key. */
const HOLDS: [options: string, readonly string[]][] = [
  [`unique_key => 'k'`, LIVE],
  [`unique_key => 'k', unique_until => 'finished'`, LIVE],
  [`unique_key => 'k', unique_until => 'dead_letter'`, LIVE.filter((status) => status !== 'dead_letter')],
  [`unique_key => 'k', unique_until => 'dispatched'`, ['pending']],
  [`unique_key => 'k', unique_for => '1h'`, [...LIVE, 'skipped']],
  [`unique_key => 'k', unique_for => '1h', unique_until => 'finished'`, LIVE],
  [`unique_by => 'payload'`, LIVE],
];

describe.each(HOLDS)('a key with %s', (options, holding) => {
  it.each(STATES)('is held or free while its job is %s', async (status) => {
    const first = await enqueue(options);
    await move(status);

    const second = await enqueue(options);
    const third = await enqueue(options);

    const holds = holding.includes(status);
    expect(second).toEqual({ id: holds ? first.id : expect.anything(), deduplicated: holds, replaced: false });
    expect(third).toEqual({ id: second.id, deduplicated: true, replaced: false });
  });

  it('is seen by jobs whose key ends in another way', async () => {
    const [first] = [await enqueue(options)];

    for (const [other] of HOLDS.filter(([name]) => !name.includes('unique_by') && !options.includes('unique_by'))) {
      expect(await enqueue(other), other).toMatchObject({ id: first.id, deduplicated: true });
    }
  });

  it('belongs to one job of twenty that are enqueued at once', async () => {
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => enqueue(options)));

    expect(verdicts.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    expect(new Set(verdicts.map(({ id }) => id)).size).toBe(1);
  });

  it('is free again for the next of twenty at once after it has ended', async () => {
    await enqueue(options);
    await move('cancelled');
    await pool.query(`update millrace.unique_keys set ends_at = now() - interval '1 second' where ends_at is not null`);

    const verdicts = await Promise.all(Array.from({ length: 20 }, () => enqueue(options)));

    expect(verdicts.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    expect(new Set(verdicts.map(({ id }) => id)).size).toBe(1);
  });

  it('is free after a rollback', async () => {
    const client = await createClient(appUrl);
    await client.query('begin');
    await enqueue(options, {}, client);
    await client.query('rollback');

    expect(await enqueue(options, {}, client)).toMatchObject({ deduplicated: false });
  });
});

describe('unique_for', () => {
  it('ends, whatever the job does', async () => {
    const key = `unique_key => 'k', unique_for => '10m'`;
    const first = await enqueue(key);
    const { rows } = await pool.query(
      `select extract(epoch from ends_at - millrace.clock())::float8 as seconds from millrace.unique_keys`,
    );
    await pool.query(`update millrace.unique_keys set ends_at = millrace.clock()`);

    const second = await enqueue(key);

    expect(rows[0].seconds).toBeGreaterThan(500);
    expect(rows[0].seconds).toBeLessThanOrEqual(600);
    expect(second).toMatchObject({ deduplicated: false });
    expect(second.id).not.toBe(first.id);
  });
});

it('a pass of the upkeep deletes the keys that have ended, and no other', async () => {
  for (const [n, until] of ['dispatched', 'dead_letter', 'finished'].entries()) {
    await enqueue(`unique_key => 'ended-${n}', unique_until => '${until}', unique_for => '1h'`);
  }
  await move('skipped');
  await enqueue(`unique_key => 'over', unique_for => '1h'`);
  await pool.query(`update millrace.unique_keys set ends_at = now() - interval '1s' where unique_key = 'over'`);
  await enqueue(`unique_key => 'held', unique_until => 'dispatched'`);
  await enqueue(`unique_key => 'for', unique_for => '1h'`);

  const part = await historyPrunes(3600).unique_keys(db, null);

  expect(part).toEqual({ rows: 4, position: null });
  const { rows } = await pool.query('select unique_key from millrace.unique_keys order by 1');
  expect(rows.map((row) => row.unique_key)).toEqual(['for', 'held']);
});
