import { inspect } from 'node:util';
import { expect, it } from 'vitest';
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

it('a log replaces secrets in texts, errors and what JSON cannot show, and leaves names and numbers', () => {
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
