import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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

  expect(describeFailure(error).stack?.split('caused by').length).toBe(5);
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

describe('the labels of an error', () => {
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  const fetchFailed = new TypeError('fetch failed', { cause: refused });
  const nested = (depth: number): Error => (depth === 1 ? refused : new Error('outer', { cause: nested(depth - 1) }));

  it('include those of its causes, after its own', () => {
    expect(failureLabels(fetchFailed)).toEqual(['TypeError', 'Error', 'ECONNREFUSED']);
  });

  it('include those that fetch hides in the cause of a refused connection', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');

    const error = await fetch(`http://127.0.0.1:${port}/`).catch((thrown: unknown) => thrown);

    expect(failureLabels(error)).toEqual(expect.arrayContaining(['TypeError', 'ECONNREFUSED']));
  });

  it.each([
    ['a member of an AggregateError', new AggregateError([new Error('a'), refused])],
    ['a member of the cause', new Error('x', { cause: new AggregateError([fetchFailed]) })],
    ['the error that was suppressed', new SuppressedError(new Error('close'), refused)],
    ['the error that suppressed it', new SuppressedError(refused, new Error('work'))],
    ['a cause that is a plain object', new Error('x', { cause: { code: 'ECONNREFUSED' } })],
    ['a thrown plain object', { code: 'ECONNREFUSED' }],
  ])('include the code of %s', (_what, error) => {
    expect(failureLabels(error)).toContain('ECONNREFUSED');
  });

  it('include those of five errors in a chain, and no further ones', () => {
    expect(failureLabels(nested(5))).toContain('ECONNREFUSED');
    expect(failureLabels(nested(6))).not.toContain('ECONNREFUSED');
    expect(failureLabels(new AggregateError([nested(4)]))).toContain('ECONNREFUSED');
    expect(failureLabels(new AggregateError([nested(5)]))).not.toContain('ECONNREFUSED');
  });

  it('end at a circle, and at the hundredth member', () => {
    const round: Error = new AggregateError([], 'round');
    Object.assign(round, { cause: round, errors: [round, fetchFailed] });
    const wide = new AggregateError([...Array.from({ length: 100 }, () => new Error('a')), refused]);

    expect(failureLabels(round)).toContain('ECONNREFUSED');
    expect(failureLabels(wide)).not.toContain('ECONNREFUSED');
  });

  it('survive causes and members that cannot be read', () => {
    const odd = withThrowing('cause');
    const error = new AggregateError([odd, revoked(), null, 'text', refused], 'odd', { cause: revoked() });

    expect(failureLabels(error)).toContain('ECONNREFUSED');
    expect(failureLabels(Object.assign(new Error('x'), { errors: revoked() }))).toEqual(['Error']);
  });

  it('contain no text for a cause that is a text', () => {
    expect(failureLabels(new Error('x', { cause: 'ECONNREFUSED' }))).toEqual(['Error']);
  });
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
