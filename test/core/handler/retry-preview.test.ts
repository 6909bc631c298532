import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LONGEST_DELAY_SECONDS, retry, retryDelay } from '../../../core/handler/retry-policy.ts';
import { chance, policy } from './any-policy.ts';

describe('a preview', () => {
  it('lists the delay after each of the first five attempts, with the bounds of its jitter', () => {
    expect(retry.preview(retry.exponential({ base: '10s', max: '1m', jitter: 'full' }))).toEqual([
      { attempt: 1, delay: 10, least: 0, most: 10 },
      { attempt: 2, delay: 20, least: 0, most: 20 },
      { attempt: 3, delay: 40, least: 0, most: 40 },
      { attempt: 4, delay: 60, least: 0, most: 60 },
      { attempt: 5, delay: 60, least: 0, most: 60 },
    ]);
  });

  it('lists every delay of a longer schedule, or after the given number of attempts', () => {
    const long = retry.schedule([1, 2, 3, 4, 5, 6, 7]);

    expect(retry.preview(long).map(({ delay }) => delay)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(retry.preview(retry.fixed(9), 2)).toHaveLength(2);
    expect(retry.preview(retry.fixed(9), 1000)).toHaveLength(1000);
  });

  it('contains every delay that the policy selects', () => {
    fc.assert(
      fc.property(policy, fc.integer({ min: 1, max: 20 }), chance, (one, number, luck) => {
        const { least, most, delay } = retry.preview(one, 20)[number - 1]!;

        const value = retryDelay(one, number, luck);

        expect(value).toBeGreaterThanOrEqual(least);
        expect(value).toBeLessThanOrEqual(most * (1 + Number.EPSILON * 4));
        expect([least, delay, most].every((one) => one >= 0 && one <= LONGEST_DELAY_SECONDS)).toBe(true);
      }),
    );
  });

  it.each([
    ['retry', () => retry.preview(5 as never)],
    ['retry.delay', () => retry.preview({ kind: 'fixed', delay: -1, jitter: 0 })],
    ['retry.jitter', () => retry.preview({ kind: 'fixed', delay: 1, jitter: 'some' as never })],
    ['retry.preview(attempts)', () => retry.preview(retry.fixed(1), 0)],
    ['retry.preview(attempts)', () => retry.preview(retry.fixed(1), 1e9)],
  ])('names %s when it is invalid', (field, preview) => {
    expect(preview).toThrow(expect.objectContaining({ code: 'MILLRACE_SETTING', field }));
  });
});
