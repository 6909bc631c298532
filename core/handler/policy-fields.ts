import { SettingError } from '../errors.ts';
import { suggestName } from './other-words.ts';

/**
 * The backoff after a failed attempt, as plain data: the registry stores it, the CLI shows it, and handlers and rescue
 * apply it. All delays are in seconds.
 */
export type RetryPolicy = RetryShape & {
  readonly jitter: Jitter;
  /** If set, only errors with one of these class names or codes, themselves or as a cause, are retried. */
  readonly retryOn?: readonly string[];
  /**
   * Errors with one of these class names or codes, themselves or as a cause, make the job a dead letter at once. A
   * crash counts as `LeaseExpired`, and is retried regardless of `retryOn`.
   */
  readonly deadLetterOn?: readonly string[];
};

/**
 * How delays are spread. A number is the largest random addition, as a fraction of the delay: 0.2 spreads a delay of
 * 60 s over 60 to 72 s. `full` spreads it over 0 to 60 s, `equal` over 30 to 60 s, and `none` is 0.
 */
export type Jitter = number | 'full' | 'equal' | 'none';
const JITTERS: readonly unknown[] = ['full', 'equal', 'none'];

type RetryShape =
  | { readonly kind: 'schedule'; readonly delays: readonly number[] }
  | { readonly kind: 'fixed'; readonly delay: number }
  | { readonly kind: 'linear'; readonly base: number; readonly step: number; readonly max: number }
  | { readonly kind: 'exponential'; readonly base: number; readonly factor: number; readonly max: number };

/** The longest delay of any policy: a year, in seconds. */
export const LONGEST_DELAY_SECONDS = 365 * 86_400;

export const EXTRAS = ['jitter', 'retryOn', 'deadLetterOn'];

export function checkExtras({ jitter, ...lists }: Record<(typeof EXTRAS)[number], unknown>, prefix: string): void {
  if (!JITTERS.includes(jitter) && !(typeof jitter === 'number' && jitter >= 0 && jitter <= 1)) {
    throw new SettingError(`${prefix}jitter`, "a number from 0 to 1, 'full', 'equal' or 'none'", jitter);
  }
  for (const [key, list] of Object.entries(lists)) {
    if (list === undefined || (Array.isArray(list) && list.every(isLabel))) continue;
    throw new SettingError(`${prefix}${key}`, "a list of error classes or codes, such as ['TypeError']", list);
  }
}

/** Returns whether the registry can store the name of an error class or a code. */
function isLabel(label: unknown): boolean {
  return typeof label === 'string' && label !== '' && label.isWellFormed() && !label.includes('\0');
}

/** The numbers of each kind of policy, beside `delays`. */
const NUMBERS: Record<RetryPolicy['kind'], readonly string[]> = {
  schedule: [],
  fixed: ['delay'],
  linear: ['base', 'step', 'max'],
  exponential: ['base', 'factor', 'max'],
};

/**
 * Checks a policy that may have been written without the builders above.
 * @throws SettingError that names the field which the registry or a retry could not use.
 */
export function checkPolicy(policy: RetryPolicy): void {
  const fields = policy as Readonly<Record<string, unknown>> | undefined;
  const numbers = Object.entries(NUMBERS).find(([kind]) => kind === fields?.kind)?.[1];
  if (fields === undefined || numbers === undefined) {
    throw new SettingError('retry', "a policy such as retry.fixed('1m')", policy);
  }
  const delays = fields.kind === 'schedule' ? ['delays'] : [];
  checkKeys('retry', fields, ['kind', ...numbers, ...delays, ...EXTRAS]);
  for (const key of numbers) {
    if (key === 'factor' ? isFactor(fields[key]) : isDelay(fields[key])) continue;
    throw new SettingError(`retry.${key}`, key === 'factor' ? 'a number of at least 1' : 'seconds', fields[key]);
  }
  if (delays.length > 0 && !(Array.isArray(fields.delays) && fields.delays.length > 0 && fields.delays.every(isDelay)))
    throw new SettingError('retry.delays', 'a list of seconds', fields.delays);
  checkExtras({ jitter: fields.jitter, retryOn: fields.retryOn, deadLetterOn: fields.deadLetterOn }, 'retry.');
}

export function isFactor(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 1;
}

function isDelay(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= LONGEST_DELAY_SECONDS;
}

export function asObject<T extends object>(field: string, given: T): T {
  if (Object.prototype.toString.call(given) === '[object Object]') return given;
  throw new SettingError(field, 'an object', given);
}

/**
 * Rejects a mistyped option, which JavaScript would ignore without an error.
 * @throws SettingError unless `given` is an object with these keys only.
 */
export function checkKeys(field: string, given: object, keys: readonly string[]): void {
  const unknown = Object.keys(asObject(field, given)).find((key) => !keys.includes(key));
  if (unknown === undefined) return;
  // The options of a handler have no name of their own.
  const owner = field === 'options' ? '' : `${field.replace(/\(options\)$/, '')}: `;
  const message = `${owner}unknown option ${unknown}; the options are ${keys.join(', ')}${suggestName(unknown, keys)}`;
  throw new SettingError(unknown, 'a known option', unknown, message);
}
