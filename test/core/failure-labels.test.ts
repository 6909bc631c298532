import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { failureLabels } from '../../core/failure.ts';

class Unreadable extends Error {
  override get cause(): never {
    throw new Error('no');
  }
}

const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();

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
    const odd = new Unreadable('x');
    const error = new AggregateError([odd, revoked, null, 'text', refused], 'odd', { cause: revoked });

    expect(failureLabels(error)).toContain('ECONNREFUSED');
    expect(failureLabels(Object.assign(new Error('x'), { errors: revoked }))).toEqual(['Error']);
  });

  it('contain no text for a cause that is a text', () => {
    expect(failureLabels(new Error('x', { cause: 'ECONNREFUSED' }))).toEqual(['Error']);
  });
});
