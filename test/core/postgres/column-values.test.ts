import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { createDatabase } from '../../support/database.ts';
import { recordLog } from '../../support/runtime-engine.ts';

const { url, drop } = await createDatabase({ migrated: false });
const db = openDatabase({ connectionString: url, max: 1, name: 'values', log: recordLog() });
afterAll(async () => {
  await db.close();
  await drop();
});

it.each([
  ["'t'::boolean", true],
  ['9007199254740993', '9007199254740993'],
  ['2147483647::int', 2_147_483_647],
  ["'NaN'::float8", Number.NaN],
  ['1e-7::float8', 1e-7],
  ["'infinity'::float4", Number.POSITIVE_INFINITY],
  [`'{"a": [1, null]}'::jsonb`, { a: [1, null] }],
  ["'null'::json", null],
  ["'2026-11-29 03:04:05.678999+01'::timestamptz", new Date('2026-11-29T02:04:05.678Z')],
  ["'0044-03-15 12:00:00+00 BC'::timestamptz", new Date('0001-01-01T00:00:00Z')],
  ["'12026-01-01 00:00:00+00'::timestamptz", new Date('9999-12-31T23:59:59.999Z')],
  ["'0099-01-01 00:00:00+00'::timestamptz", new Date('0099-01-01T00:00:00Z')],
  ["'-infinity'::timestamptz", new Date('0001-01-01T00:00:00Z')],
  ["'infinity'::timestamptz", new Date('9999-12-31T23:59:59.999Z')],
  [`array['a', null, 'NULL', '', 'x,y', '"q"', e'\\\\ {}']`, ['a', null, 'NULL', '', 'x,y', '"q"', '\\ {}']],
  ['array[]::text[]', []],
  ['array[1, null, 3]', [1, null, 3]],
  ['array[9007199254740993]', ['9007199254740993']],
  ['array[true, false]', [true, false]],
  ['array[1.5::float8]', [1.5]],
  [`array['{"a": "b"}'::jsonb]`, [{ a: 'b' }]],
  ['null::int', null],
  ["'12.50'::numeric", '12.50'],
  ["interval '1 day'", '1 day'],
])('reads %s', async (expression, expected) => {
  const { rows } = await db.query(`select ${expression} as value`);

  expect(rows).toEqual([{ value: expected }]);
});

it('reads a time as pg does, but independently of the settings of the process', async () => {
  const { rows } = await db.query<{ text: string; value: Date }>(
    `select t::text as text, t as value from generate_series(timestamptz '1890-01-01', '2100-01-01', '97 days 3:33:33.3') t`,
  );

  const parse = pg.types.getTypeParser(1184) as (text: string) => Date;
  expect(rows.length).toBeGreaterThan(500);
  expect(rows.map(({ value }) => value)).toEqual(rows.map(({ text }) => parse(text)));
});
