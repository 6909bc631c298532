import { expect, it } from 'vitest';
import { describeFailure, failureLabels } from '../../core/failure.ts';

const { proxy: revoked, revoke } = Proxy.revocable([], {});
revoke();
const lazy = Object.defineProperty([new Error('first')] as unknown[], 1, { get: () => fail('lazy') });
class Unsliceable extends Array<unknown> {
  static override get [Symbol.species](): never {
    return fail('species');
  }
}
function fail(message: string): never {
  throw new Error(message);
}

it.each([
  ['a revoked proxy', revoked],
  ['an array whose element throws', lazy],
  ['an array that cannot be copied', Unsliceable.from([new Error('first')])],
  ['a proxy that throws', new Proxy([new Error('first')], { get: () => fail('trap') })],
  ['a proxy with a length that is not a number', new Proxy([1], { get: () => 1n })],
])('describes and labels an AggregateError whose errors are %s', (_what, errors) => {
  const error = Object.assign(new AggregateError([], 'hostile'), { errors });

  expect(describeFailure(error).message).toMatch(/^hostile(: first)?$/);
  expect(failureLabels(error)).toContain('AggregateError');
});

it('reads the members beside one that cannot be read', () => {
  const error = Object.assign(new AggregateError([], 'hostile'), { errors: lazy });

  expect(describeFailure(error).message).toBe('hostile: first');
});

// JavaScript allows 2 ** 29 - 24 characters in a text.
const large = 2 ** 28;

it.each([
  ['a message and its cause', () => new Error('a'.repeat(large), { cause: 'b'.repeat(large) })],
  ['two members', () => new AggregateError(['a'.repeat(large), 'b'.repeat(large)], 'a')],
  ['a name', () => Object.assign(new Error(''), { name: 'a'.repeat(2 * large - 24), stack: '' })],
  ['a thrown text', () => 'a'.repeat(2 * large - 24)],
])('describes an error with texts that are too long together: %s', (_what, make) => {
  expect(describeFailure(make()).message).toMatch(/^a.*/);
});

it('has one place for an error with a short message and for one with a long message', () => {
  const [short, long] = [1_000, 100_000].map((length) => new Error('m'.repeat(length)));

  expect(describeFailure(long).fingerprint).toBe(describeFailure(short).fingerprint);
});

it.each<[string, (text: string) => unknown]>([
  ['the first member of Promise.any', (text) => new AggregateError([new Error(text)], 'All promises were rejected')],
  ['the second member', (text) => new AggregateError([new Error('a'), new Error(text)], 'no')],
  ['a cause that is a text', (text) => new Error('save failed', { cause: text })],
  ['a cause that is a plain object', (text) => new Error('save failed', { cause: { message: text } })],
  ['the code of a cause', (text) => new Error('save failed', { cause: { code: text.replace(' ', '_') } })],
  ['the cause of a member', (text) => new AggregateError([new Error('a', { cause: new Error(text) })], 'no')],
])('has another fingerprint for another text of %s', (_what, make) => {
  const texts = ['card declined', 'connection lost', 'card declined'];

  const [declined, lost, again] = texts.map((text) => describeFailure(make(text)).fingerprint);

  expect(lost).not.toBe(declined);
  expect(again).toBe(declined);
});
