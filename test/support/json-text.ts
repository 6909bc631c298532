import fc from 'fast-check';

const digits = fc.stringMatching(/^\d{1,30}$/);
const exponent = fc.stringMatching(/^([eE][+-]?\d{1,3})?$/);
const number = fc
  .tuple(fc.constantFrom('', '-'), fc.stringMatching(/^(0|[1-9]\d{0,29})$/), fc.option(digits), exponent)
  .map(([sign, whole, part, power]) => `${sign}${whole}${part === null ? '' : `.${part}`}${power}`);
const escaped = fc.constantFrom(
  '\\u0041',
  '\\/',
  '\\n',
  '\\"',
  '\\\\',
  '\\ud83d\\ude00',
  '\\ud800',
  '{',
  ']',
  ':',
  ',',
);
const plain = fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text).slice(1, -1));
const string = fc.array(fc.oneof(escaped, plain), { maxLength: 5 }).map((parts) => `"${parts.join('')}"`);
/**
 * JavaScript moves integer-like keys to the front, so these keys begin with a letter. None ends with a backslash: once
 * Node 24 has parsed `{"k\\\\": 0}`, it reads the key of `{"k\\u0041": 0}` as that one, too.
 */
const key = string.map((text) => `"k${text.slice(1)}`).filter((text) => !/\\\\"$/.test(text));
const space = fc.constantFrom('', ' ', '\n  ', '\t');

/** JSON text with numbers of many digits, escapes, nesting and white space; keys are unique and keep their order. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    number,
    string,
    fc.constantFrom('true', 'false', 'null'),
    fc.tuple(space, fc.array(tie('value'), { maxLength: 4 })).map(([gap, items]) => `[${gap}${items.join(`${gap},`)}]`),
    fc
      .tuple(space, fc.uniqueArray(key, { maxLength: 4, selector: (text) => JSON.parse(text) }), fc.array(tie('value')))
      .map(([gap, keys, values]) => {
        const members = keys.map((name, index) => `${name}${gap}:${gap}${values[index] ?? '0'}`);
        return `{${members.join(`,${gap}`)}${gap}}`;
      }),
  ),
})).value;

/** Returns the JSON on one line, with each string as `JSON.stringify` writes it and every other token unchanged. */
export function compactJson(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (token) =>
    token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : '',
  );
}
