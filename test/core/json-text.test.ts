import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { countValues, keepsDigits, printedBytes, walkMembers } from '../../core/json-text.ts';
import { createDatabase } from '../support/database.ts';
import { jsonText } from '../support/json-text.ts';

const { pool, drop } = await createDatabase({ migrated: false });
afterAll(drop);

it('counts the bytes that Postgres prints', async () => {
  const storable = jsonText.filter((json) => !/\\ud800|\\u0000/i.test(json));

  await fc.assert(
    fc.asyncProperty(fc.array(storable, { minLength: 20, maxLength: 20 }), async (texts) => {
      const { rows } = await pool.query(
        'select octet_length(t::jsonb::text) as bytes, t::jsonb::text as printed from unnest($1::text[]) t',
        [texts],
      );

      expect(texts.map((json) => printedBytes(json))).toEqual(rows.map(({ bytes }) => bytes));
      expect(rows.map(({ printed }) => printedBytes(printed))).toEqual(rows.map(({ bytes }) => bytes));
    }),
  );
});

it('finds that every number that JavaScript writes keeps its digits, in every notation', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      for (const text of [JSON.stringify(value), value.toExponential()]) expect(keepsDigits(text, value)).toBe(true);
    }),
  );
});

it.each([
  ['9007199254740993', false],
  ['9007199254740993.0', false],
  ['9007199254740992.00', true],
  ['9223372036854775808', true],
  ['9223372036854776000', true],
  ['0.1000000000000000055511151231257827', false],
  ['0.1000000000000000055511151231257827021181583404541015625', true],
  ['0.30000000000000004', true],
  ['0.33333333333333333333', false],
  [`1${'0'.repeat(308)}`, true],
  ['-0.00e99', true],
  ['1e-400', false],
  [`0.${'0'.repeat(400)}1`, false],
  ['1e400', false],
])('knows whether JavaScript reads the value of %s: %s', (text, kept) => {
  expect(keepsDigits(text, Number(text))).toBe(kept);
});

it('finds every member with its path, its text, and whether it is a duplicate', () => {
  const found: unknown[] = [];

  walkMembers(' {"a" : [1, {"b\\u0063":{}}, "}"], "a":"\\"", "c":null } ', (member) => {
    found.push([member.path(), member.key, member.depth, member.isDuplicate, member.text()]);
  });

  expect(found).toEqual([
    [['a', 1, 'bc'], 'bc', 3, false, '{}'],
    [['a'], 'a', 1, false, '[1, {"b\\u0063":{}}, "}"]'],
    [['a'], 'a', 1, true, '"\\""'],
    [['c'], 'c', 1, false, 'null'],
  ]);
});

it.each(['1', '"a,b:{"', '[]', '{}', '[[], [{}]]', 'null'])('finds no member in %s', (json) => {
  walkMembers(json, ({ key }) => expect.fail(key));
});

it('counts the values of JSON text without their keys', () => {
  const countOf = (value: unknown): number =>
    typeof value === 'object' && value !== null
      ? Object.values(value).reduce((sum: number, part) => sum + countOf(part), 1)
      : 1;

  fc.assert(
    fc.property(jsonText, (json) => {
      expect(countValues(json)).toBe(countOf(JSON.parse(json)));
    }),
  );
});

it.each(['{"half', '["a\\', '[[[', '"', ''])('ends its count of text that is not JSON: %s', (text) => {
  expect(countValues(text)).toBeGreaterThan(0);
});
