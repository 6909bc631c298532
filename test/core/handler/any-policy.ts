import fc from 'fast-check';
import { LONGEST_DELAY_SECONDS, type RetryPolicy, retry } from '../../../core/handler/retry-policy.ts';

/** Attempt numbers at which public bug reports saw a backoff overflow. */
export const HOSTILE_ATTEMPTS = [1, 31, 32, 60, 64, 1100, 2_147_483_647];

const delay = fc.oneof(
  fc.integer({ min: 0, max: LONGEST_DELAY_SECONDS }),
  fc.double({ min: 0, max: 1e6, noNaN: true }),
);
const jitter = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.constantFrom('full' as const, 'equal' as const, 'none' as const),
);
const options = fc.record({ jitter }, { requiredKeys: [] });
/** Generates any policy that the builders return. */
export const policy: fc.Arbitrary<RetryPolicy> = fc.oneof(
  fc
    .tuple(fc.array(delay, { minLength: 1, maxLength: 8 }), options)
    .map(([delays, rest]) => retry.schedule(delays, rest)),
  fc.tuple(delay, options).map(([fixed, rest]) => retry.fixed(fixed, rest)),
  fc.tuple(delay, delay, delay, options).map(([base, step, max, rest]) => retry.linear({ base, step, max, ...rest })),
  fc
    .tuple(delay, fc.double({ min: 1, max: 1e9, noNaN: true }), delay, options)
    .map(([base, factor, max, rest]) => retry.exponential({ base, factor, max, ...rest })),
);
export const attempt = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.constantFrom(...HOSTILE_ATTEMPTS),
  fc.maxSafeInteger(),
  fc.double(),
);
/** Generates the number that selects a delay within its jitter. */
export const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
