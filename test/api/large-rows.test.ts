import { describe, expect, it } from 'vitest';
import { openApi } from './world.ts';

const { ask, pool } = await openApi();

describe('a list remains readable with rows of any size', () => {
  const large = `jsonb_build_object('job_types', (select jsonb_agg(repeat('x', 60) || g) from generate_series(1, 5000) g))`;

  it('GET /admin/audit leaves out details of more than 16 KiB', async () => {
    await pool.query(`insert into millrace.audit_log (action, details) select 'large', ${large}
                        from generate_series(1, 30)`);
    await pool.query(`insert into millrace.audit_log (action, details) values ('large', '{"jobs": 1}')`);

    const { text, body } = await ask('/admin/audit?action=large&limit=200');

    const details = body.items.map((item: { details: unknown }) => item.details);
    expect(text.length).toBeLessThan(100_000);
    expect(details).toEqual([{ jobs: 1 }, ...Array(30).fill({ too_large: true })]);
  });

  it('GET /admin/redrives leaves out a filter of more than 16 KiB, which one redrive shows', async () => {
    const { rows } = await pool.query(
      `insert into millrace.operations (kind, filter, expected_count, requested_by)
         select 'redrive', ${large}, 0, 'ada' from generate_series(1, 30) returning id`,
    );

    const { text, body } = await ask('/admin/redrives?limit=200');
    const one = await ask(`/admin/redrives/${rows[0].id}`);

    const filters = body.items.map(({ filter }: { filter: unknown }) => filter);
    expect(text.length).toBeLessThan(100_000);
    expect(filters).toEqual(Array(30).fill({ too_large: true }));
    expect(one.body.filter.job_type).toHaveLength(5000);
  });
});
