import { type Duration, seconds } from '../duration.ts';
import { SettingError } from '../errors.ts';
import { ATTEMPTS_BOUNDS } from './check-definition.ts';
import {
  asObject,
  checkExtras,
  checkKeys,
  checkPolicy,
  EXTRAS,
  isFactor,
  type Jitter,
  LONGEST_DELAY_SECONDS,
  type RetryPolicy,
} from './policy-fields.ts';
import { whole } from './whole.ts';

export { type Jitter, LONGEST_DELAY_SECONDS, type RetryPolicy } from './policy-fields.ts';

/** The options of every builder. */
export interface RetryOptions {
  /** Default 0.2 for an exponential policy, and 0 for the others. */
  jitter?: Jitter;
  /**
   * Class names or codes of errors, such as `ECONNRESET`. If set, every other error makes the job a dead letter at
   * once, and so does a timeout unless the list has its name, `TimedOut`.
   */
  retryOn?: readonly string[];
  /** Class names or codes of errors that make the job a dead letter at once. It takes precedence over `retryOn`. */
  deadLetterOn?: readonly string[];
}

interface LinearOptions extends RetryOptions {
  base: Duration;
  step: Duration;
  max?: Duration;
}

interface ExponentialOptions extends RetryOptions {
  base: Duration;
  factor?: number;
  max?: Duration;
}

/** Builders of policies. A schedule with fewer delays than retries repeats its last delay. */
export const retry = {
  schedule(delays: readonly Duration[], options: RetryOptions = {}): RetryPolicy {
    if (!Array.isArray(delays) || delays.length === 0) {
      throw new SettingError('retry.schedule(delays)', "a list of delays, such as ['1m', '5m']", delays);
    }
    const list = delays.map((delay, index) => delaySeconds(delay, `retry.schedule(delays[${index}])`));
    return { kind: 'schedule', delays: list, ...extras('retry.schedule', options, [], 0) };
  },
  fixed(delay: Duration, options: RetryOptions = {}): RetryPolicy {
    return {
      kind: 'fixed',
      delay: delaySeconds(delay, 'retry.fixed(delay)'),
      ...extras('retry.fixed', options, [], 0),
    };
  },
  linear(given: LinearOptions): RetryPolicy {
    const { base, step, max = '12h', ...options } = asObject('retry.linear(options)', given);
    return {
      kind: 'linear',
      base: delaySeconds(base, 'retry.linear(base)'),
      step: delaySeconds(step, 'retry.linear(step)'),
      max: delaySeconds(max, 'retry.linear(max)'),
      ...extras('retry.linear', options, ['base', 'step', 'max'], 0),
    };
  },
  exponential(given: ExponentialOptions): RetryPolicy {
    const { base, factor = 2, max = '12h', ...options } = asObject('retry.exponential(options)', given);
    if (!isFactor(factor)) {
      throw new SettingError('retry.exponential(factor)', 'a number of at least 1', factor);
    }
    return {
      kind: 'exponential',
      base: delaySeconds(base, 'retry.exponential(base)'),
      factor,
      max: delaySeconds(max, 'retry.exponential(max)'),
      ...extras('retry.exponential', options, ['base', 'factor', 'max'], 0.2),
    };
  },
  /**
   * Lists the delays of a policy after each of the first failed attempts, in seconds, without running a job.
   * @param attempts default 5, or the length of a longer schedule.
   */
  preview(policy: RetryPolicy, attempts?: number): RetryPreview[] {
    checkPolicy(policy);
    const count = attempts ?? Math.max(SHOWN, policy.kind === 'schedule' ? policy.delays.length : 0);
    whole('retry.preview(attempts)', count, ...ATTEMPTS_BOUNDS);
    return Array.from({ length: count }, (_, index) => {
      const delay = clampDelay(plainDelay(policy, index + 1));
      const [least, most] = spread(delay, policy.jitter).map(clampDelay) as [number, number];
      return { attempt: index + 1, delay, least, most };
    });
  },
} as const;

/** The delay after one failed attempt, in seconds. */
export interface RetryPreview {
  /** Number of the failed attempt, from 1. */
  readonly attempt: number;
  /** The delay without jitter. */
  readonly delay: number;
  /** The bounds between which the jitter selects the delay. */
  readonly least: number;
  readonly most: number;
}

const SHOWN = 5;

/** The policy of a handler without one: one minute, five, half an hour, two hours, twelve hours. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = retry.schedule(['1m', '5m', '30m', '2h', '12h']);

/**
 * Returns the seconds to wait after the given attempt (1-based) failed: finite, not negative, at most a year.
 * @param chance a number in [0, 1) that selects a delay within the jitter.
 */
export function retryDelay(policy: RetryPolicy, attempt: number, chance: number): number {
  const delay = clampDelay(plainDelay(policy, Math.max(1, Math.floor(attempt) || 1)));
  const [least, most] = spread(delay, policy.jitter);
  return clampDelay(least + (most - least) * chance);
}

/** Returns the bounds of a delay with jitter. */
function spread(delay: number, jitter: Jitter): readonly [least: number, most: number] {
  if (jitter === 'full') return [0, delay];
  if (jitter === 'equal') return [delay / 2, delay];
  return [delay, jitter === 'none' ? delay : delay + delay * jitter];
}

/** Returns whether the policy retries an error with these class names and codes. */
export function isRetryable(policy: RetryPolicy, labels: readonly string[]): boolean {
  const hits = (list: readonly string[] | undefined) => labels.some((label) => list?.includes(label));
  if (hits(policy.deadLetterOn)) return false;
  return policy.retryOn === undefined || hits(policy.retryOn);
}

/** Returns the policy with every delay multiplied by `factor`. */
export function scaleDelays(policy: RetryPolicy, factor: number): RetryPolicy {
  switch (policy.kind) {
    case 'schedule':
      return { ...policy, delays: policy.delays.map((delay) => delay * factor) };
    case 'fixed':
      return { ...policy, delay: policy.delay * factor };
    case 'linear':
      return { ...policy, base: policy.base * factor, step: policy.step * factor, max: policy.max * factor };
    case 'exponential':
      return { ...policy, base: policy.base * factor, max: policy.max * factor };
  }
}

function plainDelay(policy: RetryPolicy, attempt: number): number {
  switch (policy.kind) {
    case 'schedule':
      return policy.delays[Math.min(attempt, policy.delays.length) - 1] ?? 0;
    case 'fixed':
      return policy.delay;
    case 'linear':
      return Math.min(policy.max, policy.base + policy.step * (attempt - 1));
    case 'exponential':
      // A large exponent results in Infinity, and zero times Infinity is not a number.
      return Math.min(policy.max, policy.base * Math.min(Number.MAX_VALUE, policy.factor ** (attempt - 1)));
  }
}

/** Limits a number of seconds to the bounds of a delay: 0 to a year. */
export function clampDelay(delay: number): number {
  if (Number.isNaN(delay)) return LONGEST_DELAY_SECONDS;
  return Math.min(LONGEST_DELAY_SECONDS, Math.max(0, delay));
}

function delaySeconds(delay: Duration, field: string): number {
  const value = seconds(delay, field);
  if (value <= LONGEST_DELAY_SECONDS) return value;
  throw new SettingError(field, 'at most 365d', delay);
}

/** @param own the options of the builder `name` besides those of every builder; the caller has removed them. */
function extras(name: string, options: RetryOptions, own: readonly string[], defaultJitter: number) {
  checkKeys(`${name}(options)`, options, [...own, ...EXTRAS]);
  const { jitter = defaultJitter, retryOn, deadLetterOn } = options;
  checkExtras({ jitter, retryOn, deadLetterOn }, 'retry ');
  return {
    jitter,
    ...(retryOn && { retryOn: [...retryOn] }),
    ...(deadLetterOn && { deadLetterOn: [...deadLetterOn] }),
  };
}
