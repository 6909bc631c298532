import fc from 'fast-check';
import { expect, it } from 'vitest';
import { resultJson } from '../../../../core/run/attempt/result.ts';
import { openDatabaseEngine } from '../../../support/database-engine.ts';

const engine = await openDatabaseEngine();
const read = (value: unknown): unknown => JSON.parse(resultJson(value) ?? '"nothing"');

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

it.each([undefined, null])('stores no result for %s', (value) => {
  expect(resultJson(value)).toBeNull();
});

it.each([
  ['a function', () => 1],
  ['a symbol', Symbol('s')],
])('stores no result for %s, which JSON cannot express', (_what, value) => {
  expect(resultJson(value)).toBeNull();
});

it.each([
  ['a value that contains itself', Object.assign([], { 0: 0 }), undefined],
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
    'what throws a string when it is read',
    {
      get bad() {
        throw 'no \0 bytes';
      },
    },
    /not JSON: no ␀ bytes was thrown/,
  ],
])('states why it cannot store %s', (_what, value, reason) => {
  const given = reason === undefined ? Object.assign(value as unknown[], { 0: value }) : value;

  expect(read(given)).toEqual({ not_kept: expect.stringMatching(reason ?? /not JSON: .*circular/) });
});

class Account {
  readonly #owner = 'ada';
  owner(): string {
    return this.#owner;
  }
}

it.each([
  ['a Map', new Map([['a', { n: 1 }]]), [['a', { n: 1 }]]],
  ['a Set', new Set(['a', 'b']), ['a', 'b']],
  ['a Map in a Set in an object', { seen: new Set([new Map([[1, 2]])]) }, { seen: [[[1, 2]]] }],
  ['an error inside a result', { failed: [new TypeError('no')] }, { failed: [{ name: 'TypeError', message: 'no' }] }],
  [
    'the fields of an error',
    [Object.assign(new Error('no'), { code: 'E1' })],
    [{ name: 'Error', message: 'no', code: 'E1' }],
  ],
  [
    'a settled promise',
    { status: 'rejected', reason: new Error('late') },
    { status: 'rejected', reason: { name: 'Error', message: 'late' } },
  ],
  ['a Date', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
  ['a boxed number', [Object(5), Object('a'), Object(true)], [5, 'a', true]],
  ['an object with a toJSON', { url: new URL('https://example.com/') }, { url: 'https://example.com/' }],
  [
    'an instance with fields',
    new (class Point {
      x = 1;
    })(),
    { x: 1 },
  ],
  ['an empty object, with a prototype or without', [{}, Object.create(null)], [{}, {}]],
])('stores %s', (_what, value, stored) => {
  expect(read(value)).toEqual(stored);
});

it.each([
  ['Promise', Promise.resolve(1)],
  ['WeakMap', new WeakMap()],
  ['RegExp', /a/],
  ['Account', new Account()],
])('states that it cannot store a %s inside a result', (name, value) => {
  expect(read({ id: 7, value })).toEqual({ id: 7, value: { not_kept: `a ${name}, which JSON turns into {}` } });
});

it('stores a result that is nested 500 deep', () => {
  expect(read(nested(500))).toEqual(nested(500));
});

it('does not count brackets inside strings as nesting', () => {
  expect(read('['.repeat(600))).toBe('['.repeat(600));
});

it('returns JSON that Postgres can store, with the same value where possible', async () => {
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
