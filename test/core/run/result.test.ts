import fc from 'fast-check';
import { expect, it } from 'vitest';
import { resultJson } from '../../../core/run/result.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();
const read = (value: unknown): unknown => JSON.parse(resultJson(value) ?? '"nothing"');

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

it.each([undefined, null])('keeps nothing of %s', (value) => {
  expect(resultJson(value)).toBeNull();
});

it.each([
  ['a function', () => 1],
  ['a symbol', Symbol('s')],
])('keeps nothing of %s, which JSON has no word for', (_what, value) => {
  expect(resultJson(value)).toBeNull();
});

it.each([
  ['itself inside itself', Object.assign([], { 0: 0 }), undefined],
  ['a bigint', { n: 1n }, /not JSON: .*BigInt/],
  ['what is too large', 'x'.repeat(70_000), /has 70002 bytes, more than the limit of 65536/],
  ['what is nested too deep', nested(501), /nested too deeply/],
  ['what is nested so deep that it cannot be written', nested(9_000), /nested too deeply|not JSON/],
  [
    'what throws when it is read',
    {
      toJSON: () => {
        throw Object.defineProperty(new Error(), 'message', {
          get: () => {
            throw new Error('again');
          },
        });
      },
    },
    /not JSON/,
  ],
  [
    'what throws a text when it is read',
    {
      get bad() {
        throw 'no \0 bytes';
      },
    },
    /not JSON: no ␀ bytes was thrown/,
  ],
])('says why it cannot keep %s', (_what, value, reason) => {
  const given = reason === undefined ? Object.assign(value as unknown[], { 0: value }) : value;

  expect(read(given)).toEqual({ not_kept: expect.stringMatching(reason ?? /not JSON: .*circular/) });
});

it('keeps a result that nests 500 deep', () => {
  expect(read(nested(500))).toEqual(nested(500));
});

it('does not take brackets inside strings for nesting', () => {
  expect(read('['.repeat(600))).toBe('['.repeat(600));
});

it('is JSON that Postgres stores, and the same as far as Postgres can hold it', async () => {
  const value = fc.oneof(
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withTypedArray: true }),
    fc.jsonValue({ stringUnit: 'binary' }),
    fc.string({ unit: 'binary' }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 30 }), async (values) => {
      const texts = values.map(resultJson).map((text) => text ?? 'null');

      const rows = await engine.sql<{ json: unknown }>('select t::jsonb as json from unnest($1::text[]) t', [texts]);

      expect(rows.map(({ json }) => json)).toEqual(texts.map((text) => JSON.parse(text)));
    }),
    { numRuns: 30 },
  );
});
