import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openUniqueWorld } from './unique-world.ts';

const { pool, enqueue } = await openUniqueWorld();

describe('millrace.payload_key', () => {
  it('is equal for equal JSON values only', async () => {
    const text = fc.oneof(
      fc.constantFrom('1.0', '1', '1.50', '1.5', '"1.50"', '"1.5"', '"\\"1.50"', '-0.0', '0', '100', '1e2', '"a.0"'),
      fc.json({ maxDepth: 2 }).filter((json) => !json.includes('\\u0000')),
      fc.constantFrom('{"a":1.50,"b":[10.00]}', '{"b":[10],"a":1.5}', '{"1.0":2.0}', '{"1.0":2}', '{"1":2}'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 2, maxLength: 12 }), async (values) => {
        const { rows } = await pool.query(
          `select count(*)::int as pairs, count(*) filter (where (a = b)
               <> (millrace.payload_key(a) = millrace.payload_key(b)))::int as wrong
             from unnest($1::jsonb[]) a, unnest($1::jsonb[]) b`,
          [values],
        );
        expect(rows).toEqual([{ pairs: values.length ** 2, wrong: 0 }]);
      }),
      { numRuns: 40 },
    );
  });
});

describe('what is refused by name', () => {
  it.each([
    [`unique_for => '1m'`, 'unique_for: expected a unique_key or unique_by with it'],
    [`unique_until => 'finished'`, 'unique_until: expected a unique_key or unique_by with it'],
    [`on_conflict => 'skip'`, 'on_conflict: expected a unique_key or unique_by with it'],
    [`unique_key => 'k', unique_by => 'payload'`, 'unique_by: expected unique_key or unique_by, not both'],
    [`unique_by => 'id'`, 'unique_by: expected payload, got id'],
    [`unique_key => 'k', unique_until => 'succeeded'`, 'unique_until: expected dispatched, dead_letter or finished'],
    [`unique_key => 'k', on_conflict => 'update'`, 'on_conflict: expected skip or replace, got update'],
    [`unique_key => 'k', unique_for => '0s'`, 'unique_for: expected more than 0 and at most 365 days'],
    [`unique_key => 'k', unique_for => '-1m'`, 'unique_for: expected more than 0'],
    [`unique_key => 'k', unique_for => '366 days'`, 'unique_for: expected more than 0 and at most 365 days'],
    [`unique_key => '', unique_for => '1m'`, 'unique_key is 1 to 500 characters'],
  ])('%s', async (options, message) => {
    await expect(enqueue(options)).rejects.toThrow(message);

    const item = options.split(', ').map((one) => {
      const [name, value = ''] = one.split(' => ');
      return [name, value.slice(1, -1)];
    });
    const job = { job_type: 'mail', ...Object.fromEntries(item) };
    await expect(
      pool.query('select millrace.enqueue_many($1::jsonb)', [JSON.stringify([{ job_type: 'mail' }, job])]),
    ).rejects.toThrow(message);
    expect((await pool.query('select id from millrace.jobs')).rows).toEqual([]);
  });
});

describe('millrace.enqueue_many', () => {
  it('has the verdicts that enqueue has one after another', async () => {
    const job = fc.record(
      {
        unique_key: fc.constantFrom('a', 'b'),
        unique_for: fc.constantFrom('10m', '1 hour'),
        unique_until: fc.constantFrom('dispatched', 'dead_letter', 'finished'),
        on_conflict: fc.constantFrom('skip', 'replace'),
        routing_key: fc.constantFrom('', 'fast', '*'),
        payload: fc.constantFrom(1, 2),
      },
      { requiredKeys: ['unique_key', 'payload'] },
    );
    const ROWS = `select routing_key, unique_key, unique_until, payload from millrace.jobs order by 1, 2, 3, 4`;
    await fc.assert(
      fc.asyncProperty(fc.array(job, { minLength: 1, maxLength: 6 }), async (jobs) => {
        const given = jobs.map((one) => ({ job_type: 'mail', ...one }));
        // Jobs whose keys last until they have finished come first.
        const plain = (one: (typeof jobs)[number]) =>
          one.on_conflict !== 'replace' &&
          one.unique_for === undefined &&
          (one.unique_until ?? 'finished') === 'finished';
        const order = [...given].sort((a, b) => Number(plain(b)) - Number(plain(a)));
        await pool.query('delete from millrace.jobs_live; delete from millrace.unique_keys');
        let replaced = 0;
        for (const one of order) {
          const many = await pool.query('select * from millrace.enqueue_many($1)', [JSON.stringify([one])]);
          replaced += many.rows.filter((row) => row.replaced).length;
        }
        const expected = (await pool.query(ROWS)).rows;
        await pool.query('delete from millrace.jobs_live; delete from millrace.unique_keys');

        const { rows } = await pool.query('select * from millrace.enqueue_many($1)', [JSON.stringify(order)]);

        const inserted = (await pool.query(ROWS)).rows;
        expect(inserted.map(({ payload: _, ...row }) => row)).toEqual(expected.map(({ payload: _, ...row }) => row));
        expect(rows.filter((row) => row.replaced).length).toBe(replaced);
        expect(rows.filter((row) => !row.deduplicated)).toHaveLength(inserted.length);
      }),
      { numRuns: 40 },
    );
  });

  it('takes the place of each payload as its key', async () => {
    const jobs = [{ a: 1, b: 2.5 }, { b: 2.5, a: 1 }, { a: 1 }].map((payload) => ({
      ...{ job_type: 'mail', unique_by: 'payload', unique_for: '1 minute', payload },
    }));

    const { rows } = await pool.query(
      'select "position"::int, deduplicated from millrace.enqueue_many($1) order by 1',
      [JSON.stringify(jobs)],
    );

    expect(rows.map(({ deduplicated }) => deduplicated)).toEqual([false, true, false]);
  });
});
