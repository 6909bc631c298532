import { afterAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../support/database.ts';

const { pool, drop } = await createDatabase();
afterAll(drop);

/** The columns that an application may write, with their types. */
const { rows: columns } = await pool.query<{ name: string; type: string }>(`
  select c.column_name as name, c.data_type as type
    from information_schema.column_privileges p
    join information_schema.columns c using (table_schema, table_name, column_name)
    where p.grantee = 'millrace_app' and p.privilege_type in ('INSERT', 'UPDATE') and p.table_schema = 'millrace'
    group by 1, 2 order by 1`);
/** Values that take little space in a table, and much in memory. */
const TOO_LARGE: Record<string, string> = {
  text: "repeat('a', 2000000)",
  jsonb: "jsonb_build_object('x', repeat('a', 2000000))",
  'timestamp with time zone': "'infinity'::timestamptz",
  integer: '2147483647',
  smallint: '32767::smallint',
};

it('finds the columns that applications may write', () => {
  expect(columns.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['group_key', 'job_type', 'payload', 'routing_key', 'traceparent', 'unique_key']),
  );
});

describe.each(columns)('$name', ({ name, type }) => {
  it.each([
    ['a value', ''],
    ['a value from a table, where it is compressed', 'create temporary table outbox as '],
  ])('has a constraint that refuses %s that is too large', async (_what, before) => {
    const client = await pool.connect();
    const others = name === 'job_type' ? '' : ', job_type';
    const insert = (value: string) =>
      client.query(`insert into millrace.jobs (${name}${others}) select ${value}${others && ", 'mail'"}`);
    try {
      if (before) await client.query(`${before}select ${TOO_LARGE[type]} as value`);

      const inserted = insert(before ? '(select value from outbox)' : (TOO_LARGE[type] as string));

      await expect(inserted).rejects.toMatchObject({ code: '23514' });
    } finally {
      await client.query('drop table if exists outbox');
      client.release();
    }
  });
});

describe('an update by hand', () => {
  it.each([
    ['priority', '99'],
    ['run_at', "'infinity'"],
    ['max_attempts', '0'],
    ['group_key', "''"],
    ['payload', "jsonb_build_object('x', repeat('a', 2000000))"],
  ])('of %s to %s is refused, and the job keeps its value', async (name, value) => {
    const { rows } = await pool.query(`insert into millrace.jobs (job_type) values ('mail') returning id`);
    const read = async () => (await pool.query(`select ${name} as v from millrace.jobs where id = ${rows[0].id}`)).rows;
    const before = await read();

    const updated = pool.query(`update millrace.jobs set ${name} = ${value} where id = ${rows[0].id}`);

    await expect(updated).rejects.toMatchObject({ code: '23514' });
    expect(await read()).toEqual(before);
  });
});
