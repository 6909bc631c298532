import { describe, expect, it } from 'vitest';
import { each, openDoors, run, same } from './world.ts';

const { engine, sql, library, text } = await openDoors();

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

const EDGES = '\ufeff\ufffe\uffff\ufffc\u{10ffff}\u{1f600}\u007f\u0085\u2028';

/** Payloads that every interface accepts, and what the handler gets. */
const ACCEPTED: [string, string, unknown][] = [
  ['null', 'null', null],
  ['an empty object', '{}', {}],
  ['an empty array', '[]', []],
  ['an empty text', '""', ''],
  ['2^53', '[9007199254740992]', [2 ** 53]],
  ['2^63 as JavaScript writes it', '[9223372036854776000]', [2 ** 63]],
  ['the largest number', '[1.7976931348623157e308]', [Number.MAX_VALUE]],
  ['the smallest number', '[5e-324]', [5e-324]],
  ['exponents and trailing zeros', '[1E+2, 100.0e-2, 1.10]', [100, 1, 1.1]],
  ['zeros', '[-0, 0e9, -0.0]', [0, 0, 0]],
  ['the deepest nesting', nested(500), JSON.parse(nested(500))],
  ['text at the edges of Unicode', JSON.stringify(EDGES), EDGES],
  ['keys at the edges of Unicode', `{"${EDGES}":1,"__proto__":2}`, JSON.parse(`{"${EDGES}":1,"__proto__":2}`)],
];

/** Payloads that the handler refuses, as does every interface that receives them as text. */
const REFUSED: [string, string, string][] = [
  ['2^53 + 1', '{"n":9007199254740993}', '/n: 9007199254740993 is not exact as a JavaScript number'],
  ['the same with a point', '{"n":9007199254740993.0}', 'is not exact as a JavaScript number'],
  ['the same with an exponent', '{"n":9.007199254740993e15}', 'is not exact as a JavaScript number'],
  ['the same with a negative exponent', '{"n":9007199254740993000E-3}', 'is not exact as a JavaScript number'],
  ['a number beyond the largest', '[1e400]', 'is not exact as a JavaScript number'],
  ['a number that becomes 0', '[1e-400]', 'is not exact as a JavaScript number'],
  ['0.1 with 30 digits', '[0.100000000000000000000000000001]', 'is not exact as a JavaScript number'],
  ['nesting beyond the deepest', nested(501), 'is nested more than 50'],
];

/** Payloads that no interface accepts: the message of the library, and that of the database. */
const IMPOSSIBLE: [string, string, string, string][] = [
  ['a NUL', '{"a":["\\u0000"]}', '/a/0: has a NUL', 'unsupported Unicode escape sequence'],
  ['half a surrogate pair', '{"a":"\\ud83d"}', '/a: has a NUL or half', 'invalid input syntax for type json'],
  ['a NUL in a key', '{"\\u0000":1}', 'in its key', 'unsupported Unicode escape sequence'],
];

const all = { ...sql, ...library, ...text };

describe('every interface', () => {
  it.each(ACCEPTED)('passes %s to the handler', async (_name, payload, got) => {
    const answers = await each(all, async (door) => run(engine, await door({ payload }), payload));

    expect(answers).toEqual(same(all, { status: 'succeeded', isKept: true, got, error: null }));
  });

  it.each(IMPOSSIBLE)('refuses %s', async (_name, payload, sentence, ofDatabase) => {
    const answers = await each(all, (door) => door({ payload }));

    const expected = { ...same(all, sentence), ...same(sql, ofDatabase) };
    for (const [name, answer] of Object.entries(answers)) {
      expect(answer, name).toEqual({ refused: expect.stringContaining(expected[name] as string) });
    }
  });
});

describe('what the handler cannot read', () => {
  it.each(REFUSED)('is refused as text: %s', async (_name, payload, sentence) => {
    const answers = await each(text, (door) => door({ payload }));

    expect(answers).toEqual(same(text, { refused: expect.stringContaining(sentence) }));
  });

  it.each(REFUSED)('makes a dead letter after an insert with SQL: %s', async (_name, payload, sentence) => {
    const answers = await each(sql, async (door) => run(engine, await door({ payload })));

    const error = expect.stringContaining(sentence);
    expect(answers).toMatchObject(same(sql, { status: 'dead_letter', got: 'the handler did not run', error }));
  });
});

describe('duplicate keys', () => {
  it.each([
    ['{"a":1,"a":2}', '/a'],
    ['{"x":[0,{"b/c":1,"b\\/c":2}]}', '/x/1/b~1c'],
  ])('are refused as text: %s', async (payload, pointer) => {
    const answers = await each(text, (door) => door({ payload }));

    for (const [name, answer] of Object.entries(answers)) {
      expect(answer, name).toEqual({ refused: expect.stringContaining(`${pointer}: is a duplicate key`) });
    }
  });

  it('have the value of the last one in SQL', async () => {
    const answers = await each(sql, async (door) => {
      return run(engine, await door({ payload: '{"a":1,"a":2}' }));
    });

    expect(answers).toMatchObject(same(sql, { status: 'succeeded', got: { a: 2 } }));
  });
});
