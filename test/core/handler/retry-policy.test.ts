import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_RETRY_POLICY,
  LONGEST_DELAY_SECONDS,
  type RetryPolicy,
  retry,
  retryDelay,
  scaleDelays,
} from '../../../core/handler/retry-policy.ts';
import { attempt, chance, HOSTILE_ATTEMPTS, policy } from './any-policy.ts';

/** The delays of the first attempts, without jitter. */
function delays(of: RetryPolicy, count: number): number[] {
  return Array.from({ length: count }, (_, index) => retryDelay({ ...of, jitter: 0 }, index + 1, 0));
}

describe('policies', () => {
  it('repeat the last delay of a schedule', () => {
    expect(delays(retry.schedule(['5s', '1m']), 4)).toEqual([5, 60, 60, 60]);
  });

  it('wait a constant time if fixed', () => {
    expect(delays(retry.fixed('90s'), 3)).toEqual([90, 90, 90]);
  });

  it('add a step up to the maximum if linear', () => {
    expect(delays(retry.linear({ base: '10s', step: '20s', max: '45s' }), 4)).toEqual([10, 30, 45, 45]);
  });

  it('double up to the maximum if exponential', () => {
    expect(delays(retry.exponential({ base: '30s', max: '5m' }), 6)).toEqual([30, 60, 120, 240, 300, 300]);
  });

  it('never shorten the delay except in a schedule', () => {
    const growing = policy.filter(({ kind }) => kind !== 'schedule');

    fc.assert(
      fc.property(growing, (one) => {
        const list = delays(one, 12);

        expect(list).toEqual([...list].sort((a, b) => a - b));
      }),
    );
  });

  it('wait a minute, five, half an hour, two hours and twelve hours by default', () => {
    expect(delays(DEFAULT_RETRY_POLICY, 5)).toEqual([60, 300, 1_800, 7_200, 43_200]);
  });
});

describe('RTY-01: a large attempt number', () => {
  it.each(HOSTILE_ATTEMPTS)('keeps the delay of attempt %d between the base and the maximum plus jitter', (number) => {
    const one = retry.exponential({ base: '30s', max: '1h', jitter: 0.2 });

    for (const luck of [0, 0.5, 0.999_999]) {
      expect(retryDelay(one, number, luck)).toBeGreaterThanOrEqual(30);
      expect(retryDelay(one, number, luck)).toBeLessThanOrEqual(3_600 * 1.2);
    }
  });

  it('accepts a maximum above the default', () => {
    expect(retryDelay(retry.exponential({ base: '30s', max: '7d' }), 2_147_483_647, 0)).toBe(7 * 86_400);
    expect(retryDelay(retry.linear({ base: '30s', step: '1h', max: '7d' }), 2_147_483_647, 0)).toBe(7 * 86_400);
  });

  it('waits zero seconds with a base of zero', () => {
    expect(retryDelay(retry.exponential({ base: 0, jitter: 0 }), 2_147_483_647, 0)).toBe(0);
  });

  it.each([0, -5, Number.NaN, Number.NEGATIVE_INFINITY, 0.5])('of %d counts as the first', (number) => {
    expect(retryDelay(DEFAULT_RETRY_POLICY, number, 0)).toBe(60);
  });

  it('has a finite delay within bounds, for any policy, attempt and chance', () => {
    fc.assert(
      fc.property(policy, attempt, chance, (one, number, luck) => {
        const value = retryDelay(one, number, luck);

        expect(value).toBeGreaterThanOrEqual(retryDelay(one, number, 0));
        expect(value).toBeLessThanOrEqual(LONGEST_DELAY_SECONDS);
        expect(value).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 500 },
    );
  });

  it('stays within bounds with a policy from a row that was edited manually', () => {
    const row = fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1, 0, 1e308);
    const written = fc.record({
      kind: fc.constant('exponential' as const),
      base: row,
      factor: row,
      max: row,
      jitter: row,
    });

    fc.assert(
      fc.property(written, attempt, chance, (one, number, luck) => {
        const value = retryDelay(one, number, luck);

        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(LONGEST_DELAY_SECONDS);
      }),
      { numRuns: 500 },
    );
  });
});

describe('jitter', () => {
  it('adds at most its fraction of the delay, or takes away at most all or half of it', () => {
    fc.assert(
      fc.property(policy, fc.integer({ min: 1, max: 20 }), chance, (one, number, luck) => {
        const plain = retryDelay({ ...one, jitter: 0 }, number, 0);
        const bounds = { full: [0, 1], equal: [0.5, 1], none: [1, 1] } as const;
        const [least, most] = typeof one.jitter === 'number' ? [1, 1 + one.jitter] : bounds[one.jitter];

        const value = retryDelay(one, number, luck);

        expect(value).toBeGreaterThanOrEqual(plain * least * (1 - Number.EPSILON * 4));
        expect(value).toBeLessThanOrEqual(plain * most * (1 + Number.EPSILON * 4));
      }),
    );
  });

  it.each([
    ['full', [0, 50, 90]],
    ['equal', [50, 75, 95]],
    ['none', [100, 100, 100]],
    [0, [100, 100, 100]],
    [1, [100, 150, 190]],
  ] as const)('of %j spreads 100 s evenly over its range', (jitter, expected) => {
    const one = retry.fixed(100, { jitter });

    expect([0, 0.5, 0.9].map((luck) => retryDelay(one, 1, luck))).toEqual(expected);
  });

  it('applies after the maximum', () => {
    const one = retry.exponential({ base: 100, max: 150, jitter: 'equal' });

    expect([1, 2, 9].map((number) => retryDelay(one, number, 0))).toEqual([50, 75, 75]);
  });

  it('spreads delays evenly over its range', () => {
    const one = retry.fixed(100, { jitter: 0.5 });

    expect([0, 0.5, 0.9].map((luck) => retryDelay(one, 1, luck))).toEqual([100, 125, 145]);
  });

  it('is a fifth by default if exponential, and zero otherwise', () => {
    expect(retry.exponential({ base: 1 }).jitter).toBe(0.2);
    expect(retry.linear({ base: 1, step: 1 }).jitter).toBe(0);
    expect(retry.fixed(1).jitter).toBe(0);
    expect(DEFAULT_RETRY_POLICY.jitter).toBe(0);
  });
});

it('scales every delay of every kind of policy', () => {
  const small = policy.map((one) => scaleDelays(one, 1e-3));

  fc.assert(
    fc.property(small, fc.integer({ min: 1, max: 20 }), chance, (one, number, luck) => {
      const scaled = scaleDelays(one, 1 / 60);

      expect(retryDelay(scaled, number, luck) * 60).toBeCloseTo(retryDelay(one, number, luck), 4);
    }),
  );
});
