import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_RETRY_POLICY,
  isRetryable,
  type RetryPolicy,
  retry,
  retryDelay,
} from '../../../core/handler/retry-policy.ts';
import { attempt, chance, policy } from './any-policy.ts';

describe('builders', () => {
  it.each([
    ['retry.schedule(delays)', () => retry.schedule([])],
    ['retry.schedule(delays[1])', () => retry.schedule(['1m', '5 minutes'])],
    ['retry.schedule(delays[0])', () => retry.schedule(['366d'])],
    ['retry.fixed(delay)', () => retry.fixed(-1)],
    ['retry.linear(base)', () => retry.linear({ base: 'x', step: 1 })],
    ['retry.linear(step)', () => retry.linear({ base: 1, step: Number.NaN })],
    ['retry.linear(max)', () => retry.linear({ base: 1, step: 1, max: '2y' })],
    ['retry.exponential(base)', () => retry.exponential({ base: '' })],
    ['retry.exponential(factor)', () => retry.exponential({ base: 1, factor: 0.5 })],
    ['retry.exponential(factor)', () => retry.exponential({ base: 1, factor: Number.NaN })],
    ['retry.exponential(max)', () => retry.exponential({ base: 1, max: Number.POSITIVE_INFINITY })],
    ['retry jitter', () => retry.fixed(1, { jitter: 1.01 })],
    ['retry jitter', () => retry.fixed(1, { jitter: Number.NaN })],
    ['retry jitter', () => retry.fixed(1, { jitter: 'some' as never })],
    ['retry jitter', () => retry.fixed(1, { jitter: 'Full' as never })],
  ])('name %s when it is invalid', (field, build) => {
    expect(build).toThrow(expect.objectContaining({ code: 'MILLRACE_SETTING', field }));
  });

  it('return plain data that can be stored', () => {
    fc.assert(
      fc.property(policy, attempt, chance, (one, number, luck) => {
        const stored = JSON.parse(JSON.stringify(one)) as RetryPolicy;

        expect(retryDelay(stored, number, luck)).toBe(retryDelay(one, number, luck));
      }),
    );
  });

  it('omit filters that were not given', () => {
    expect(retry.fixed('1m')).toEqual({ kind: 'fixed', delay: 60, jitter: 0 });
  });
});

describe('filters', () => {
  const one = retry.fixed(1, { retryOn: ['HttpStatusError', 'ETIMEDOUT'], deadLetterOn: ['HTTP_404'] });

  it.each([
    [['HttpStatusError', 'HTTP_503'], true],
    [['HttpStatusError', 'HTTP_404'], false],
    [['Error', 'ETIMEDOUT'], true],
    [['TypeError'], false],
    [[], false],
  ])('retry %j: %s', (labels, expected) => {
    expect(isRetryable(one, labels)).toBe(expected);
  });

  it('retry every error by default', () => {
    expect(isRetryable(DEFAULT_RETRY_POLICY, ['TypeError'])).toBe(true);
    expect(isRetryable(DEFAULT_RETRY_POLICY, [])).toBe(true);
  });

  it('retry no error when the list is empty', () => {
    expect(isRetryable(retry.fixed(1, { retryOn: [] }), ['Error'])).toBe(false);
  });
});
