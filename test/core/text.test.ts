import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closest, oneLine, startOf, storable, storableJson } from '../../core/text.ts';

/** Generates any code units: NUL, controls, half surrogate pairs, whole pairs. */
const units = fc
  .array(fc.oneof(fc.nat(0xffff), fc.constantFrom(0, 0x5c, 0x22, 0xd83d, 0xde00, 0xdfff, 0xd800)), { maxLength: 80 })
  .map((codes) => String.fromCharCode(...codes));

describe('text', () => {
  it.each([
    ['a NUL', 'bad \0 byte', 'bad \u2400 byte'],
    ['half a pair', 'x\ud83d', 'x\ufffd'],
    ['the other half', '\ude00x', '\ufffdx'],
    ['a whole pair', 'ok 😀', 'ok 😀'],
    ['nothing', '', ''],
  ])('keeps the storable part of %s', (_what, text, stored) => {
    expect(storable(text, 100)).toBe(stored);
  });

  it('states its original length after a cut', () => {
    const stored = storable('a'.repeat(5_000_000), 8_000);

    expect(stored).toMatch(/^a+… \(cut, 5000000 characters in all\)$/);
    expect(stored).toHaveLength(8_000);
  });

  it('does not split a surrogate pair', () => {
    const stored = [0, 1].map((shift) => storable(`${'x'.repeat(shift)}${'😀'.repeat(500)}`, 300));

    expect(stored.map((text) => text.isWellFormed())).toEqual([true, true]);
  });

  it('is well-formed, without NUL and within its length, for any text', () => {
    fc.assert(
      fc.property(units, fc.integer({ min: 50, max: 90 }), (text, most) => {
        const stored = storable(text, most);

        expect(stored.isWellFormed()).toBe(true);
        expect(stored).not.toContain('\0');
        expect(stored.length).toBeLessThanOrEqual(most);
        if (text.isWellFormed() && !text.includes('\0') && text.length <= most) expect(stored).toBe(text);
      }),
    );
  });
});

describe('startOf', () => {
  it.each([
    ['no pair at the cut', 'abc😀', 3, 'abc'],
    ['a pair at the cut', 'abc😀', 4, 'abc'],
    ['a pair before the cut', 'abc😀d', 5, 'abc😀'],
    ['half a pair at the cut', 'abc\ud83dd', 4, 'abc\ufffd'],
    ['half a pair before the cut', '\ude00abc', 2, '\ufffda'],
    ['text that is short enough', 'ab😀', 10, 'ab😀'],
  ])('keeps text well-formed with %s', (_what, text, most, start) => {
    expect(startOf(text, most)).toBe(start);
  });

  it('is a well-formed beginning of any well-formed text', () => {
    fc.assert(
      fc.property(units, fc.integer({ min: 0, max: 90 }), (any, most) => {
        const text = any.toWellFormed();
        const start = startOf(text, most);

        expect(start.isWellFormed()).toBe(true);
        expect(text.startsWith(start)).toBe(true);
        expect(start.length).toBeLessThanOrEqual(most);
        expect(start.length).toBeGreaterThanOrEqual(Math.min(most - 1, text.length));
      }),
    );
  });
});

describe('oneLine', () => {
  it.each([
    ['what controls a terminal', '\u001b[2Ja\u009bb\u0007', '\ufffd[2Ja\ufffdb\ufffd'],
    ['what changes the direction of text', 'a\u202eb\u2066c\u200fd', 'a\ufffdb\ufffdc\ufffdd'],
    ['line breaks', 'a\r\nb\n\nc\td', 'a b c d'],
    ['nothing', 'as it was', 'as it was'],
  ])('removes %s', (_what, text, shown) => {
    expect(oneLine(text, 300)).toBe(shown);
  });

  it('cuts with a mark', () => {
    expect(oneLine('a'.repeat(301), 300)).toBe(`${'a'.repeat(299)}…`);
    expect(oneLine('a'.repeat(300), 300)).toBe('a'.repeat(300));
  });
});

describe('JSON text', () => {
  it('stays unchanged if it is storable', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'grapheme' }), (json) => {
        fc.pre(!json.includes('\\u'));

        expect(storableJson(json)).toBe(json);
      }),
    );
  });

  it.each([
    [{ note: 'ab\0cd' }, { note: 'ab\u2400cd' }],
    [{ note: 'x\ud83d' }, { note: 'x\ufffd' }],
    [{ note: 'ok 😀' }, { note: 'ok 😀' }],
    [{ note: '\\u0000 written out' }, { note: '\\u0000 written out' }],
    [{ note: '\\\0' }, { note: '\\\u2400' }],
    [{ 'k\0': 1 }, { 'k\u2400': 1 }],
  ])('converts %j to %j', (value, stored) => {
    expect(JSON.parse(storableJson(JSON.stringify(value)))).toEqual(stored);
  });

  it('converts every string like `storable`', () => {
    fc.assert(
      fc.property(units, (text) => {
        const stored = JSON.parse(storableJson(JSON.stringify({ [text]: [text] })));

        const clean = storable(text, 10_000);
        expect(stored).toEqual({ [clean]: [clean] });
      }),
    );
  });
});

describe('the closest word', () => {
  const words = ['payload', 'priority'];

  it.each([
    ['paylod', 'payload'],
    ['priorities', 'priority'],
    ['p\u{1f600}yload', 'payload'],
    ['weight', undefined],
    ['', undefined],
    ['a'.repeat(2_000_000), undefined],
  ])('to a given one differs in at most a third of its letters', (given, word) => {
    expect(closest(given, words)).toBe(word);
  });

  it.each([49, 1000, 2_000_000])('is not looked for in a text of %i characters, too long for all of them', (length) => {
    const letters = () => {
      throw new Error('compared');
    };
    const given = { length, [Symbol.iterator]: letters } as unknown as string;

    expect(closest(given, words)).toBeUndefined();
  });
});
