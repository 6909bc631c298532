import { SettingError } from './errors.ts';

/** A duration: seconds as a number, or text such as `500ms`, `30s`, `5m`, `2h`, `7d`. */
export type Duration = number | string;

/** Matches a duration as text. */
export const DURATION = /^\d+(\.\d+)?(ms|s|m|h|d)$/;

/** Matches a number of seconds as text. */
const BARE_SECONDS = /^\d+(\.\d+)?$/;

const SECONDS = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 } as const;

/**
 * Returns a duration in seconds, finite and not negative.
 * @throws SettingError that names `field` when the text or number is anything else.
 */
export function seconds(duration: Duration, field: string): number {
  const value = typeof duration === 'number' ? duration : parse(duration);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new SettingError(field, `a duration such as 30s, 5m or 2h, or seconds as a number`, duration);
}

/**
 * Returns the seconds of a duration that is always text, such as a setting: `30s`, or seconds such as `5` or `2.5`.
 * @throws SettingError that names `field` when the text is anything else.
 */
export function secondsOfText(text: string, field: string): number {
  const value = BARE_SECONDS.test(text.trim()) ? Number(text) : parse(text);
  if (Number.isFinite(value)) return value;
  throw new SettingError(field, 'a duration such as 30s, 5m or 2h, or seconds such as 5 or 2.5', text);
}

function parse(text: string): number {
  if (typeof text !== 'string') return Number.NaN;
  const unit = DURATION.exec(text.trim())?.[2];
  return unit === undefined ? Number.NaN : Number.parseFloat(text) * SECONDS[unit as keyof typeof SECONDS];
}

/** Returns seconds for a reader: three digits, or whole seconds from a thousand on. */
export function roughly(seconds: number): string {
  return `${seconds < 1000 ? Number(seconds.toPrecision(3)) : Math.round(seconds)} s`;
}
