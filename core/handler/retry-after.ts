import { DURATION, type Duration, seconds } from '../duration.ts';
import { clampDelay } from './retry-policy.ts';

/** A time to wait: a duration, a time, or the value of a `Retry-After` header, which can be absent. */
export type RetryTime = Duration | Date | null | undefined;

/**
 * Returns the seconds to wait, from 0 to a year; undefined for anything that states no time. A server writes the
 * header, so no value is an error.
 */
export function retryAfterSeconds(time: RetryTime, now = Date.now()): number | undefined {
  const wait = read(time, now);
  return wait === undefined || Number.isNaN(wait) ? undefined : clampDelay(wait);
}

function read(time: RetryTime, now: number): number | undefined {
  if (typeof time === 'number') return time;
  if (time instanceof Date) return (time.getTime() - now) / 1000;
  if (typeof time !== 'string') return undefined;
  const text = time.trim();
  if (/^[+-]?\d{1,20}(?:\.\d{1,20})?$/.test(text)) return Number(text);
  // JavaScript reads hundreds of digits as Infinity.
  if (DURATION.test(text)) return text.length > 300 ? Number.POSITIVE_INFINITY : seconds(text, 'RetryAfter(delay)');
  const date = httpDate(text, now);
  return date === undefined ? undefined : (date - now) / 1000;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const CLOCK = '(?<clock>\\d{2}:\\d{2}:\\d{2})';
/** The three forms of RFC 9110, section 5.6.7; the second and third are obsolete, and must still be accepted. */
const HTTP_DATES = [
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${CLOCK} GMT$`),
  new RegExp(`^[A-Z][a-z]{5,8}, (?<day>\\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\\d{2}) ${CLOCK} GMT$`),
  new RegExp(`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${CLOCK} (?<year>\\d{4})$`),
];

/** Returns the milliseconds of an HTTP date, which is always in GMT; undefined for other text and unreal dates. */
function httpDate(text: string, now: number): number | undefined {
  const found = HTTP_DATES.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (found === undefined) return undefined;
  const { day = '', month = '', year = '', clock = '' } = found;
  const [hour = 0, minute = 0, second = 0] = clock.split(':').map(Number);
  const index = MONTHS.indexOf(month);
  const whole = year.length === 4 ? Number(year) : fullYear(Number(year), now);
  const midnight = new Date(Date.UTC(whole, index, Number(day)));
  const isReal = midnight.getUTCMonth() === index && midnight.getUTCDate() === Number(day);
  // RFC 9110 allows a leap second.
  if (!isReal || hour > 23 || minute > 59 || second > 60) return undefined;
  return midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1000;
}

/** Returns the year with these last digits that is at most 50 years ahead. */
function fullYear(digits: number, now: number): number {
  const current = new Date(now).getUTCFullYear();
  const year = current - (current % 100) + digits;
  return year > current + 50 ? year - 100 : year;
}
