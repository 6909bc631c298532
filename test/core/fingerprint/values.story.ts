import { describe, expect, it } from 'vitest';
import { maskValues } from '../../../core/mask-values.ts';
import { randomFrom } from '../../support/random.ts';

const HEX = '0123456789abcdef';
const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const BASE_62 = `0123456789${UPPER}${UPPER.toLowerCase()}`;

const random = randomFrom(7);
const whole = (most: number) => Math.floor(random() * most);
const letters = (alphabet: string, length: number) =>
  Array.from({ length }, () => alphabet[whole(alphabet.length)]).join('');
const digits = (length: number) => `${1 + whole(9)}${letters('0123456789', length - 1)}`;
const pick = (...choices: readonly string[]) => choices[whole(choices.length)] ?? '';
const uuid = () => [8, 4, 4, 4, 12].map((length) => letters(HEX, length)).join('-');
const date = () => new Date(whole(2 ** 31) * 1000);
const host = () => [10, whole(256), whole(256), whole(256)].join('.');

const FORMS: Record<string, () => string> = {
  'a decimal id': () => digits(1 + whole(12)),
  'a UUID': uuid,
  'a UUID in upper case': () => uuid().toUpperCase(),
  'a UUID in braces': () => `{${uuid()}}`,
  'a ULID': () => `01${letters('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 24)}`,
  'a KSUID': () => `2${letters(BASE_62, 26)}`,
  'a nano id': () => letters(`${BASE_62}_-`, 21),
  'a base 62 id': () => letters(BASE_62, 24),
  'a prefixed id': () => `cus_${letters(BASE_62, 14)}`,
  'a Mongo id': () => letters(HEX, 24),
  'six or more hex digits': () => `${whole(10)}${letters(HEX, 5 + whole(30))}`,
  'a SHA-256 sum': () => letters(HEX, 64),
  'base 64': () => Buffer.from(Array.from({ length: 40 }, () => whole(256))).toString('base64'),
  'a token of three parts': () => `eyJ0${letters(BASE_62, 30)}.eyJ1${letters(BASE_62, 60)}.${letters(BASE_62, 42)}1`,
  'a trace id': () => `00-${letters(HEX, 32)}-${letters(HEX, 16)}-0${whole(2)}`,
  'an ARN': () => `arn:aws:sqs:eu-west-1:${digits(12)}:orders-${letters(BASE_62, 6)}`,
  'an email address': () => `${letters(BASE_62, 8)}.${letters('abcdef', 4)}@${pick('example.com', 'mail.example.org')}`,
  'a double-quoted value': () => `"${letters(BASE_62, 3 + whole(9))} ${letters(BASE_62, 4)}"`,
  'a single-quoted name': () => `'${pick('Ada', 'Grace Hopper', "O'Neil", 'Łukasz', '')}'`,
  'a value with escaped quotes': () => JSON.stringify(JSON.stringify({ [letters('abc', 3)]: letters('xyz', 4) })),
  'an IPv4 address and a port': () => `${host()}:${digits(4)}`,
  'an IPv6 address': () => `[2001:db8::${letters(HEX, 4)}:${letters(HEX, 3)}]:443`,
  'a MAC address': () => Array.from({ length: 6 }, () => letters(HEX, 2)).join(':'),
  'an ISO time': () => date().toISOString(),
  'a local time': () => `${date().toISOString().slice(0, 19)}+0${whole(10)}:30`,
  'an HTTP date': () => date().toUTCString(),
  'the text of a Date': () => `${date().toString().slice(0, 24)} GMT+0100 (Central European Standard Time)`,
  'an amount': () => `${pick('$', '€', '£')}${digits(1 + whole(3))}.${digits(2)}`,
  'an amount with its currency': () => `${digits(1 + whole(3))},${digits(3)}.${digits(2)} ${pick('EUR', 'USD', 'CHF')}`,
  'a negative number': () => `-${digits(3)}.${digits(2)}`,
  'a duration': () => `${digits(1 + whole(3))} ${pick('ms', 's', 'seconds', 'minutes')}`,
  'a size': () => `${digits(3)}${pick('kB', ' MB', ' bytes')}`,
  'a list of ids': () => Array.from({ length: 1 + whole(5) }, () => digits(5)).join(', '),
  'a URL path with an id and a query': () => `https://api.example.com/orders/${uuid()}/lines?page=${digits(2)}`,
  'a URL path with a short id': () => `https://api.example.com/orders/${letters(BASE_62, 10)}7#${digits(2)}`,
  'a temporary file': () => `/tmp/${letters(BASE_62, 8)}/${letters('abc', 5)}.pdf`,
  'a masked secret': () => `sk-${letters(BASE_62, 4)}${'*'.repeat(5 + whole(20))}${letters(BASE_62, 4)}`,
};

describe('five hundred values of one form have one mask', () => {
  it.each(Object.entries(FORMS))('%s', (_form, make) => {
    const sentences = Array.from({ length: 500 }, () => `the partner refused ${make()} and closed the connection`);

    const masks = [...new Set(sentences.map(maskValues))];

    expect(masks).toHaveLength(1);
    expect(masks[0]).toMatch(/^the partner refused .*# ?.*and closed the connection$/);
  });
});

describe('text that distinguishes kinds of errors is kept', () => {
  it.each([
    ['HTTP 503 from https://api.example.com/', 'HTTP 503 from https://api.example.com/'],
    ['HTTP/1.1 404 for /orders/12', 'HTTP/# 404 for /orders/#'],
    ['the server answered 429', 'the server answered 429'],
    ['the query returned 503 rows', 'the query returned # row'],
    ['exited with code 137 (signal 9)', 'exited with code 137 (signal 9)'],
    ['verification code 482913 is wrong', 'verification code # is wrong'],
    ['ERROR: no (SQLSTATE 23505)', 'ERROR: no (SQLSTATE 23505)'],
    ['column "email" of relation "users"', 'column email of relation users'],
    ['user "ada" of team "red"', 'user # of team #'],
    ["Cannot read properties of undefined (reading 'id')", 'Cannot read properties of undefined (reading id)'],
    ['NGHTTP2_REFUSED_STREAM', 'NGHTTP2_REFUSED_STREAM'],
    ['getPartitionOwnerAsync is not a function', 'getPartitionOwnerAsync is not a function'],
    ["the customer's card can't be used, don't retry", "the customer's card can't be used, don't retry"],
    ['std::bad_alloc', 'std::bad_alloc'],
    ['Declined 3 orders', 'Declined # order'],
    ['Marked 17 rows', 'Marked # row'],
    ['Sunday, 3 API calls', '# API calls'],
    ['3 SQL calls', '# SQL calls'],
    ['1 query', '# query'],
    ['20 queries', '# query'],
    ['on 3 May 2026, May 3rd or Sept. 3', 'on # or #'],
    ['', ''],
  ])('%s', (text, expected) => {
    expect(maskValues(text)).toBe(expected);
  });
});

describe('the time grows with the length, not with its square', () => {
  /** Processor milliseconds of this thread, the lesser of two. */
  function cost(text: string): number {
    const runs = [1, 2].map(() => {
      const before = process.threadCpuUsage();
      maskValues(text);
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1000;
    });
    return Math.min(...runs);
  }

  const PARTS = [
    ...[
      'a',
      'A',
      'A1',
      'aA',
      'a_',
      'é',
      '1',
      '1 ',
      '1.',
      '# ',
      '-',
      '*',
      '.',
      ' ',
      '\n',
      '\t ',
      '(',
      '$',
      ':',
      'f:',
      '::',
    ],
    ...['"', '\\"', '"a', "'", " '", "'a'", '`', '“', '«a', '@', 'a@', "a'", 'a.b@', 'http://', 'http://a.', 'x:', '?'],
    ...[
      '/tmp/',
      'arn:aws:',
      'Mon, ',
      'Jan ',
      '1 Jan',
      '1 GMT (A',
      'Unexpected token ',
      '"message": ',
      'code ',
      '1 aaas ',
    ],
    ...['{"a":', '[[', '0x', '\\', '\0', '\ud800', '+/', '==', 'A_', 'A1_', '"\\', "'\\"],
  ];
  const ENDS = ['!', '\\'];

  it.each(PARTS.flatMap((part) => ENDS.map((end) => [part, end] as const)))('%j, and %j at the end', (part, end) => {
    const text = (length: number) => part.repeat(length / part.length) + end;
    const [short, long] = [cost(text(8_192)), cost(text(65_536))];

    // Eight times the length: a linear function costs eight times as much, a quadratic one 64 times.
    expect(long).toBeLessThan(32 * Math.max(short, 10));
  });
});
