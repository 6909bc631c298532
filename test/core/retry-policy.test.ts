import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_RETRY_POLICY,
  isRetryable,
  LONGEST_DELAY_SECONDS,
  type RetryPolicy,
  retry,
  retryDelay,
  scaleDelays,
} from '../../core/retry-policy.ts';

const HOSTILE_ATTEMPTS = [1, 31, 32, 60, 64, 1100, 2_147_483_647];

const delay = fc.oneof(
  fc.integer({ min: 0, max: LONGEST_DELAY_SECONDS }),
  fc.double({ min: 0, max: 1e6, noNaN: true }),
);
const options = fc.record({ jitter: fc.double({ min: 0, max: 1, noNaN: true }) }, { requiredKeys: [] });
const policy: fc.Arbitrary<RetryPolicy> = fc.oneof(
  fc
    .tuple(fc.array(delay, { minLength: 1, maxLength: 8 }), options)
    .map(([delays, rest]) => retry.schedule(delays, rest)),
  fc.tuple(delay, options).map(([fixed, rest]) => retry.fixed(fixed, rest)),
  fc.tuple(delay, delay, delay, options).map(([base, step, max, rest]) => retry.linear({ base, step, max, ...rest })),
  fc
    .tuple(delay, fc.double({ min: 1, max: 1e9, noNaN: true }), delay, options)
    .map(([base, factor, max, rest]) => retry.exponential({ base, factor, max, ...rest })),
);
const attempt = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.constantFrom(...HOSTILE_ATTEMPTS),
  fc.maxSafeInteger(),
  fc.double(),
);
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** The delays of the first attempts, without jitter. */
function delays(of: RetryPolicy, count: number): number[] {
  return Array.from({ length: count }, (_, index) => retryDelay({ ...of, jitter: 0 }, index + 1, 0));
}

describe('shapes', () => {
  it('repeat the last delay of a schedule', () => {
    expect(delays(retry.schedule(['5s', '1m']), 4)).toEqual([5, 60, 60, 60]);
  });

  it('wait the same every time when fixed', () => {
    expect(delays(retry.fixed('90s'), 3)).toEqual([90, 90, 90]);
  });

  it('add a step up to the cap when linear', () => {
    expect(delays(retry.linear({ base: '10s', step: '20s', max: '45s' }), 4)).toEqual([10, 30, 45, 45]);
  });

  it('double up to the cap when exponential', () => {
    expect(delays(retry.exponential({ base: '30s', max: '5m' }), 6)).toEqual([30, 60, 120, 240, 300, 300]);
  });

  it('never shrink but in a schedule', () => {
    const growing = policy.filter(({ kind }) => kind !== 'schedule');

    fc.assert(
      fc.property(growing, (one) => {
        const list = delays(one, 12);

        expect(list).toEqual([...list].sort((a, b) => a - b));
      }),
    );
  });

  it('wait a minute, five, half an hour, two hours and twelve when nothing is said', () => {
    expect(delays(DEFAULT_RETRY_POLICY, 5)).toEqual([60, 300, 1_800, 7_200, 43_200]);
  });
});

describe('RTY-01: a large attempt number', () => {
  it.each(HOSTILE_ATTEMPTS)('keeps the delay of attempt %d between base and cap plus jitter', (number) => {
    const one = retry.exponential({ base: '30s', max: '1h', jitter: 0.2 });

    for (const luck of [0, 0.5, 0.999_999]) {
      expect(retryDelay(one, number, luck)).toBeGreaterThanOrEqual(30);
      expect(retryDelay(one, number, luck)).toBeLessThanOrEqual(3_600 * 1.2);
    }
  });

  it('honours a cap above the default one', () => {
    expect(retryDelay(retry.exponential({ base: '30s', max: '7d' }), 2_147_483_647, 0)).toBe(7 * 86_400);
    expect(retryDelay(retry.linear({ base: '30s', step: '1h', max: '7d' }), 2_147_483_647, 0)).toBe(7 * 86_400);
  });

  it('of a base of zero waits not at all, rather than for a time that is not a number', () => {
    expect(retryDelay(retry.exponential({ base: 0, jitter: 0 }), 2_147_483_647, 0)).toBe(0);
  });

  it.each([0, -5, Number.NaN, Number.NEGATIVE_INFINITY, 0.5])('that is %d counts as the first', (number) => {
    expect(retryDelay(DEFAULT_RETRY_POLICY, number, 0)).toBe(60);
  });

  it('gives a finite delay in bounds, for any policy, attempt and chance', () => {
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

  it('stays in bounds under a policy of a hand-written row', () => {
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
  it('only ever adds, by its fraction at most', () => {
    fc.assert(
      fc.property(policy, fc.integer({ min: 1, max: 20 }), chance, (one, number, luck) => {
        const plain = retryDelay(one, number, 0);

        const value = retryDelay(one, number, luck);

        expect(value).toBeGreaterThanOrEqual(plain);
        expect(value).toBeLessThanOrEqual(plain * (1 + one.jitter) * (1 + Number.EPSILON * 4));
      }),
    );
  });

  it('spreads a delay evenly over its range', () => {
    const one = retry.fixed(100, { jitter: 0.5 });

    expect([0, 0.5, 0.9].map((luck) => retryDelay(one, 1, luck))).toEqual([100, 125, 145]);
  });

  it('is a fifth when exponential, and none elsewhere', () => {
    expect(retry.exponential({ base: 1 }).jitter).toBe(0.2);
    expect(retry.linear({ base: 1, step: 1 }).jitter).toBe(0);
    expect(retry.fixed(1).jitter).toBe(0);
    expect(DEFAULT_RETRY_POLICY.jitter).toBe(0);
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
  ])('let %j be tried again: %s', (labels, expected) => {
    expect(isRetryable(one, labels)).toBe(expected);
  });

  it('let everything be tried again when there are none', () => {
    expect(isRetryable(DEFAULT_RETRY_POLICY, ['TypeError'])).toBe(true);
    expect(isRetryable(DEFAULT_RETRY_POLICY, [])).toBe(true);
  });

  it('let nothing be tried again when the list is empty', () => {
    expect(isRetryable(retry.fixed(1, { retryOn: [] }), ['Error'])).toBe(false);
  });
});

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
  ])('name %s when it is wrong', (field, build) => {
    expect(build).toThrow(expect.objectContaining({ code: 'MILLRACE_SETTING', field }));
  });

  it('make plain data that survives being stored', () => {
    fc.assert(
      fc.property(policy, attempt, chance, (one, number, luck) => {
        const stored = JSON.parse(JSON.stringify(one)) as RetryPolicy;

        expect(retryDelay(stored, number, luck)).toBe(retryDelay(one, number, luck));
      }),
    );
  });

  it('leave out filters that were not given', () => {
    expect(retry.fixed('1m')).toEqual({ kind: 'fixed', delay: 60, jitter: 0 });
  });
});

it('scales every delay of every shape', () => {
  const small = policy.map((one) => scaleDelays(one, 1e-3));

  fc.assert(
    fc.property(small, fc.integer({ min: 1, max: 20 }), chance, (one, number, luck) => {
      const scaled = scaleDelays(one, 1 / 60);

      expect(retryDelay(scaled, number, luck) * 60).toBeCloseTo(retryDelay(one, number, luck), 4);
    }),
  );
});
