import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEEPEST_JSON, exactJson, jsonDepth, parseExactly, toJson } from '../../core/json.ts';
import { openDatabaseEngine } from '../support/database-engine.ts';
import { compactJson, jsonText } from '../support/json-text.ts';

const engine = await openDatabaseEngine();
const nested = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`;

describe('exact JSON', () => {
  it('keeps every digit, escape and level of any JSON text', () => {
    fc.assert(
      fc.property(jsonText, (json) => {
        expect(toJson(exactJson(json))).toBe(compactJson(json));
      }),
    );
  });

  it('has the value that JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        expect(JSON.parse(toJson(exactJson(JSON.stringify(value))))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it.each(['12345678901234567890', '-0', '1.10', '1E2', '1e400', '0.1000000000000000055511151231257827'])(
    'keeps the number %s as a part of a document',
    (number) => {
      expect(toJson({ payload: exactJson(`{"n": [${number}]}`) })).toBe(`{"payload":{"n":[${number}]}}`);
    },
  );

  it('keeps a key named __proto__', () => {
    expect(toJson(exactJson('{"__proto__": {"a": 1}}'))).toBe('{"__proto__":{"a":1}}');
  });

  it('moves integer-like keys to the front, which changes no payload since jsonb orders keys by itself', async () => {
    const json = '{"b": 1, "10": 2, "9": 3}';

    const [stored] = await engine.sql<{ text: string }>('select $1::jsonb::text as text', [json]);

    expect(toJson(exactJson(json))).toBe('{"9":3,"10":2,"b":1}');
    expect(stored?.text).toBe('{"9": 3, "b": 1, "10": 2}');
  });

  it('leaves JSON as text when it nests too deeply for the stack', () => {
    expect(toJson(exactJson(nested(DEEPEST_JSON)))).toBe(nested(DEEPEST_JSON));
    expect(exactJson(nested(DEEPEST_JSON + 1))).toBe(nested(DEEPEST_JSON + 1));
    expect(exactJson(nested(100_000))).toBe(nested(100_000));
  });

  it('parses a document around JSON of the greatest depth', () => {
    const document = `{"item":{"payload":${nested(DEEPEST_JSON)}}}`;

    expect(toJson(parseExactly(document))).toBe(document);
  });
});

it('the depth of JSON text counts no brackets inside strings', () => {
  expect(['1', '[]', '{"a":[1,[]]}', '"[[["', '["\\"[["]', '["\\\\"]'].map(jsonDepth)).toEqual([0, 1, 3, 0, 1, 1]);
});

it('writes a missing document as null', () => {
  expect(toJson(undefined)).toBe('null');
});
