import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeFailure, failureLabels } from '../../core/failure.ts';

class HttpError extends Error {
  override readonly name: string = 'HttpError';
  readonly code = 'E503';
}
class Unavailable extends HttpError {
  override readonly name = 'Unavailable';
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function withThrowing(...fields: string[]): Error {
  const error = new Error('seen');
  for (const field of fields) {
    Object.defineProperty(error, field, {
      get: () => {
        throw new Error('no');
      },
    });
  }
  return error;
}

const ODD: [string, unknown, RegExp][] = [
  ['undefined', undefined, /^undefined was thrown, which is not an Error$/],
  ['null', null, /^null was thrown/],
  ['a text', 'text', /^text was thrown/],
  ['an empty text', '', /^an empty text was thrown/],
  ['zero', 0, /^0 was thrown/],
  ['an object', {}, /^\{\} was thrown/],
  ['a symbol', Symbol('s'), /^Symbol\(s\) was thrown/],
  ['a bigint', 10n, /^10n was thrown/],
  ['a function', () => 1, /was thrown/],
  ['an object without prototype', Object.create(null), /was thrown/],
  ['a revoked proxy', revoked(), /was thrown/],
  ['an error without a message', new Error(), /^Error without a message$/],
  ['an error whose getters throw', withThrowing('message', 'stack', 'name', 'cause'), /^Error without a message$/],
  ['an error whose message is an object', Object.assign(new Error(), { message: { a: 1 } }), /object Object/],
  ['an error whose message is a symbol', Object.assign(new Error(), { message: Symbol('s') }), /Symbol\(s\)/],
  ['an error whose stack is a number', Object.assign(new Error('m'), { stack: 7 }), /^m$/],
];

it.each(ODD)('describes %s', (_what, thrown, message) => {
  const described = describeFailure(thrown);

  expect(described.message).toMatch(message);
  expect(described.name).not.toBe('');
  expect(failureLabels(thrown).every((label) => typeof label === 'string')).toBe(true);
});

it('includes the stacks of the causes', () => {
  const error = new Error('outer', { cause: new TypeError('inner', { cause: 'text' }) });

  const { stack } = describeFailure(error);

  expect(stack).toMatch(/Error: outer[\s\S]+caused by: TypeError: inner/);
});

it('stops at an error that is its own cause', () => {
  const error = new Error('round');
  error.cause = error;

  expect(describeFailure(error).stack?.split('caused by').length).toBe(1);
});

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });

it.each([
  ['a cause', new TypeError('fetch failed', { cause: refused }), 'fetch failed: connect ECONNREFUSED 127.0.0.1:1'],
  [
    'a cause of a cause',
    new Error('sync', { cause: new TypeError('fetch failed', { cause: refused }) }),
    'sync: fetch failed: connect ECONNREFUSED 127.0.0.1:1',
  ],
  [
    'members of a cause without a message, as in fetch to localhost',
    new TypeError('fetch failed', { cause: new AggregateError([new Error('connect ::1'), refused]) }),
    'fetch failed: connect ::1; connect ECONNREFUSED 127.0.0.1:1',
  ],
  [
    'its own members',
    new AggregateError(
      [1, 2, 3, 4].map((n) => new Error(`e${n}`)),
      'many',
    ),
    'many: e1; e2; e3',
  ],
  [
    'a cause that it quotes',
    new Error(`no partner: ${refused.message}`, { cause: refused }),
    `no partner: ${refused.message}`,
  ],
  ['a cause that is a text', new Error('save failed', { cause: 'disk full' }), 'save failed: disk full'],
  [
    'a cause that is a plain object',
    new Error('save failed', { cause: { code: 'E42', message: 'disk full' } }),
    'save failed: disk full',
  ],
  ['a cause without a message', new Error('save failed', { cause: { code: 'ENOSPC' } }), 'save failed: ENOSPC'],
  ['a member that is a text', new AggregateError(['card declined'], 'all failed'), 'all failed: card declined'],
  [
    'the cause of a member',
    new AggregateError([new TypeError('fetch failed', { cause: refused })], 'all failed'),
    'all failed: fetch failed: connect ECONNREFUSED 127.0.0.1:1',
  ],
  [
    'both errors of a SuppressedError',
    new SuppressedError(new Error('close failed'), new Error('work failed'), 'two errors'),
    'two errors: close failed; work failed',
  ],
])('the message of an error contains %s', (_what, error, expected) => {
  expect(describeFailure(error).message).toBe(expected);
});

it('cuts a message and a stack of five megabytes with a mark', () => {
  const error = new Error('m'.repeat(5_000_000));
  error.stack = 's'.repeat(5_000_000);

  const { message, stack } = describeFailure(error);

  expect(message).toHaveLength(8_000);
  expect(stack).toHaveLength(32_000);
  for (const text of [message, stack]) expect(text).toContain('(cut, 5000000 characters in all)');
});

it('labels an error with its class, its superclasses, its name and its code', () => {
  expect(failureLabels(new Unavailable('x'))).toEqual(['Unavailable', 'E503', 'HttpError', 'Error']);
});

it('has one fingerprint for errors that differ only in numbers and ids, and another for other errors', () => {
  const [one, two] = [1, 2].map((n) => new Error(`order ${n} of deadbeef0${n}: not found`));
  const other = new Error('order 1 of deadbeef01: refused');

  const prints = [one, two, other].map((error) => describeFailure(error).fingerprint);

  expect(prints[1]).toBe(prints[0]);
  expect(prints[2]).not.toBe(prints[0]);
});

it('describes any thrown value as text that Postgres accepts', () => {
  const text = fc.string({ unit: 'binary' });
  const error = fc
    .record({ name: fc.anything(), message: fc.anything(), stack: fc.anything(), cause: fc.anything(), code: text })
    .map((fields) => Object.assign(new Error(), fields));
  const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true });
  fc.assert(
    fc.property(fc.oneof(error, anything, text), (thrown) => {
      const described = describeFailure(thrown);

      for (const part of [described.name, described.message, described.stack ?? '', described.fingerprint]) {
        expect(part.isWellFormed() && !part.includes('\0') && part.length <= 32_000).toBe(true);
      }
      expect(described.message).not.toBe('');
      expect(failureLabels(thrown).every((label) => typeof label === 'string')).toBe(true);
    }),
  );
});
