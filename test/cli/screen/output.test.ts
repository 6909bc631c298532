import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { exactJson, indentJson, snakeCase, toJson } from '../../../cli/screen/json.ts';
import { firstLine, printPairs, printRows } from '../../../cli/screen/terminal.ts';
import { compactJson, jsonText } from '../../support/json-text.ts';

afterEach(() => {
  vi.restoreAllMocks();
  delete (process.stdout as { isTTY?: boolean }).isTTY;
});

function captured(isTerminal: boolean): () => string {
  let text = '';
  Object.defineProperty(process.stdout, 'isTTY', { value: isTerminal, configurable: true });
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += chunk;
    return true;
  });
  // Colours are irrelevant here.
  return () => stripVTControlCharacters(text);
}

describe('rows', () => {
  const rows = [
    ['1', 'a\tb\nc', null],
    ['22', '\u001b[2J😀', new Date(0)],
  ];

  it('are an aligned table on a terminal, without control characters', () => {
    const output = captured(true);

    printRows(['ID', 'TEXT', 'WHEN'], rows);

    expect(output()).toBe(
      ['ID  TEXT     WHEN', '1   a\\tb\\nc', '22  \ufffd[2J😀    1970-01-01T00:00:00.000Z', ''].join('\n'),
    );
  });

  it('are tab-separated lines without headings in a pipe', () => {
    const output = captured(false);

    printRows(['ID', 'TEXT', 'WHEN'], rows);

    expect(output()).toBe('1\ta\\tb\\nc\t\n22\t\ufffd[2J😀\t1970-01-01T00:00:00.000Z\n');
  });
});

it.each(['=1+1', '+1', '-1', '@SUM(A1)', "'quoted"])(
  'a cell in a pipe is exactly the value %s, for scripts',
  (value) => {
    const output = captured(false);

    printRows(['ID', 'KEY'], [['1', value]]);
    printPairs([['key', value]]);

    expect(output()).toBe(`1\t${value}\nkey\t${value}\n`);
  },
);

it.each(['first', 'first\nsecond', 'first\r\nsecond', 'first\rsecond', 'first\r\n'])(
  'firstLine ends at any line break: %j',
  (error) => {
    expect(firstLine(error)).toBe('first');
  },
);

it('printPairs shows every line break of a value on a terminal, below the value', () => {
  const output = captured(true);

  printPairs([
    ['last error', 'first\r\nsecond\nthird\rover'],
    ['stack', 'at a\nstatus      succeeded\n'],
  ]);

  expect(output()).toBe(
    [
      'last error  first',
      '            second',
      '            third\ufffdover',
      'stack       at a',
      '            status      succeeded\n\n',
    ].join('\n'),
  );
});

it('printPairs omits empty values', () => {
  const output = captured(false);

  printPairs([
    ['id', 1],
    ['error', null],
    ['key', ''],
  ]);

  expect(output()).toBe('id\t1\n');
});

describe('JSON', () => {
  it('keeps the digits of JSON text inside a document', () => {
    const text = toJson({
      payload: exactJson('{"n": 9007199254740993}'),
      at: new Date(0),
      none: undefined,
      list: [null],
    });

    expect(text).toBe('{"payload":{"n":9007199254740993},"at":"1970-01-01T00:00:00.000Z","list":[null]}');
  });

  it('is the output of JSON.stringify for any value, raw or indented, but for escapes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const json = JSON.stringify(value);

        expect(JSON.stringify(JSON.parse(toJson(value)))).toBe(json);
        expect(indentJson(json).split('\n').length).toBe(JSON.stringify(value, null, 2).split('\n').length);
        expect(indentJson(json) + toJson(value)).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
      }),
    );
  });

  it.each([
    ['\u009b', '"\\u009b"'],
    ['\u007f', '"\\u007f"'],
    ['\u202e', '"\\u202e"'],
    ['\u2066', '"\\u2066"'],
    ['é😀', '"é😀"'],
  ])('escapes only what can control a terminal: %j', (text, json) => {
    expect(toJson(text)).toBe(json);
  });

  it('keeps every digit and escape over several lines', () => {
    fc.assert(
      fc.property(jsonText, (json) => {
        expect(compactJson(indentJson(json))).toBe(compactJson(json));
      }),
    );
  });

  it('stays on one line when it nests too deeply', () => {
    const deep = `${'['.repeat(3_000)}${']'.repeat(3_000)}`;

    expect(indentJson(deep)).toBe(deep);
  });

  it('has column names', () => {
    expect(snakeCase({ jobType: 'a', id: '1', nextRetryAt: null })).toEqual({
      job_type: 'a',
      id: '1',
      next_retry_at: null,
    });
  });
});
