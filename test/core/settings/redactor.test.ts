import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { openHandlerLog } from '../../../core/handler/handler-log.ts';
import { openLog } from '../../../core/log.ts';
import { describe as describeThrown } from '../../../core/run/attempt/described.ts';
import { openRedactor } from '../../../core/settings/redactor.ts';

function redactorOf(...values: string[]) {
  const redactor = openRedactor();
  for (const [index, value] of values.entries()) redactor.add(`SECRET_${index}`, value);
  return redactor;
}

it('replaces each secret wherever it stands, the longer of two first', () => {
  const { redact } = redactorOf('hunter2', 'hunter2-and-more');

  expect(redact('401 for hunter2 and hunter2-and-more (hunter2)')).toBe('401 for *** and *** (***)');
});

it('replaces a secret in the form that it has inside of JSON', () => {
  const key = '-----BEGIN-----\n"a\\b"\n-----END-----\n';
  const { redact } = redactorOf(key);

  const line = redact(JSON.stringify({ event: 'failed', message: `bad key ${key}` }));

  expect(JSON.parse(line).message.trim()).toBe('bad key ***');
});

const KEY = `wJalr/K7"MD+bP x'\\ö\n=`;

it.each([
  ['a query', (key: string) => `https://a.example/?${new URLSearchParams({ key })}`, 'https://a.example/?key=***'],
  ['a part of a URL', (key: string) => `/v1/${encodeURIComponent(key)}/x`, '/v1/***/x'],
  ['a URL', (key: string) => `/v1/${encodeURI(key)}/x`, '/v1/***/x'],
  ['an object that inspect shows', (key: string) => inspect({ key }), '***'],
])('replaces a secret in the form that it has inside of %s', (_where, print, expected) => {
  expect(redactorOf(KEY).redact(print(KEY))).toContain(expected);
});

it.each([20, 12, 6])('replaces the %i characters of a secret that are left where a message was cut', (left) => {
  const secret = 'a-long-secret-of-many-characters';
  const message = `${secret.padStart(8000, 'x')}${'y'.repeat(200)}`;
  const { message: whole } = describeThrown(new Error(message));
  const kept = whole.lastIndexOf('… (');

  const text = describeThrown(new Error(`${'x'.repeat(kept - left)}${secret}${'y'.repeat(300)}`), redactorOf(secret));

  expect(text.message).toMatch(/x\*\*\*… \(cut, \d+ characters in all\)$/);
});

it('replaces the passwords, tokens and keys in a secret that is a JSON object', () => {
  const { redact } = redactorOf('{"engine": "postgres", "password": "hunter2-", "apiKey": "key-of-it", "port": 5432}');

  expect(redact('postgres refused hunter2- and key-of-it at 5432')).toBe('postgres refused *** and *** at 5432');
});

it('also replaces the values before the last two rotations, and no older one', () => {
  const redactor = openRedactor();
  for (const value of ['first-value', 'second-value', 'third-value', 'fourth-value']) redactor.add('TOKEN', value);

  const text = redactor.redact('first-value second-value third-value fourth-value');

  expect(text).toBe('first-value *** *** ***');
});

it('leaves values of fewer than six characters, which occur in other words', () => {
  const { redact } = redactorOf('admin', '1', '');

  expect(redact('admin 1')).toBe('admin 1');
});

it('a log replaces secrets in texts, errors and what JSON cannot show, and leaves the words of Millrace', () => {
  const { redact } = redactorOf('hunter2', '123456', 'duration_ms');
  const lines: string[] = [];
  const log = openLog((line) => lines.push(line), { bound: 'hunter2' }, { redact });
  const circular: Record<string, unknown> = { token: 'hunter2' };
  circular.self = circular;

  log.error('batch_failed', {
    duration_ms: 123_456,
    error: new Error('401 for hunter2', { cause: new Error('hunter2') }),
    list: new Set(['hunter2']),
    nested: { deep: ['x hunter2 y'] },
  });
  log.child({ secrets: circular }).warn('batch_failed', { inside: 'hunter2' });

  expect(lines.join('')).not.toContain('hunter2');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { bound: '***', duration_ms: 123_456, list: ['***'], nested: { deep: ['x *** y'] } },
    { bound: '***', inside: '***', secrets: expect.stringContaining('***') },
  ]);
});

const PASSPHRASE = 'correct-horse-battery';

it.each([
  ['an object', { [PASSPHRASE]: 1 }],
  ['an object within an object', { cache: { [PASSPHRASE]: { hits: 1 } } }],
  ['a field with the name of one of Millrace', { error: { [PASSPHRASE]: 1 } }],
  ['a Map', { cache: new Map([[PASSPHRASE, 1]]) }],
  ['what toJSON returns', { cache: { toJSON: () => ({ [PASSPHRASE]: 1 }) } }],
  ['a key that contains it', { [`by ${PASSPHRASE}`]: 1 }],
])('replaces a secret among the keys of %s in a log line', (_what, fields) => {
  const line = lineOf(fields, PASSPHRASE);

  expect(line).not.toContain(PASSPHRASE);
  expect(line).toContain('***');
});

it.each([
  ['a number', { pin: 98_765_432 }],
  ['a bigint', { pin: 98_765_432n }],
  ['a number of a list', { pins: [1, 98_765_432] }],
])('replaces a secret of digits that a log line shows as %s', (_what, fields) => {
  expect(lineOf(fields, '98765432')).not.toContain('98765432');
});

it('keeps the fields that log queries read, and other numbers', () => {
  const line = JSON.parse(lineOf({ message: 'hello', bytes: 123 }, 'message', 'job_type', '123456'));

  expect(line).toMatchObject({ message: 'hello', bytes: 123 });
});

const PRIVATE_KEY = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSj\n-----END KEY-----\n';

it.each([
  ['an error in an object that inspect shows', () => inspect({ causes: [{ error: new Error(PRIVATE_KEY) }] })],
  ['quoted lines', () => PRIVATE_KEY.replaceAll(/^/gm, '> ')],
  ['JSON within JSON', () => JSON.stringify({ body: JSON.stringify({ key: PRIVATE_KEY }) })],
  ['JSON within JSON within JSON', () => JSON.stringify([JSON.stringify([JSON.stringify([PRIVATE_KEY])])])],
  ['Windows line breaks', () => PRIVATE_KEY.replaceAll('\n', '\r\n')],
])('replaces each line of a secret of several lines in %s', (_where, print) => {
  const text = redactorOf(PRIVATE_KEY).redact(print());

  expect(text).not.toMatch(/MIIEvQ|AQEFAA/);
});

it('replaces a secret with quotation marks in JSON within JSON', () => {
  const text = redactorOf('p"a"s"s"word').redact(JSON.stringify({ body: JSON.stringify({ key: 'p"a"s"s"word' }) }));

  expect(text).not.toMatch(/p.*a.*s.*s.*word/);
});

it('replaces what is left of a secret at each place where a text was cut', () => {
  const { redact } = redactorOf(PASSPHRASE);

  expect(redact('a correct-hor… (cut, 90 characters in all): b correct-horse-bat… (99 characters)')).toBe(
    'a ***… (cut, 90 characters in all): b ***… (99 characters)',
  );
});

it.each([
  ['the message', (secret: string) => new Error(`login with ${secret} failed`)],
  ['the name', (secret: string) => Object.assign(new Error('failed'), { name: `Error of ${secret}` })],
  ['the code', (secret: string) => Object.assign(new Error('failed'), { code: secret })],
  ['a cause', (secret: string) => new Error('failed', { cause: new Error(`no ${secret}`) })],
])('does not let the fingerprint of an error depend on a secret in %s', (_where, fail) => {
  const prints = ['correct-horse-battery', 'wrong-donkey-charger'].map(
    (secret) => describeThrown(fail(secret), redactorOf(secret)).fingerprint,
  );

  expect(prints[0]).toBe(prints[1]);
});

function lineOf(fields: Record<string, unknown>, ...secrets: string[]): string {
  const lines: string[] = [];
  openHandlerLog(openLog((line) => lines.push(line), {}, redactorOf(...secrets))).info('event', fields);
  return lines.join();
}
