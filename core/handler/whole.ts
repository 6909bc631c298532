import { type Duration, seconds } from '../duration.ts';
import { SettingError } from '../errors.ts';

/**
 * Returns `value`.
 * @throws SettingError unless it is a whole number within the bounds.
 */
export function whole(field: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new SettingError(field, `a whole number from ${least} to ${most}`, value);
}

/**
 * Returns the seconds of a duration.
 * @throws SettingError with what was written unless they are whole and in bounds.
 */
export function wholeSeconds(field: string, written: Duration, [least, most]: readonly [number, number]): number {
  const value = seconds(written, field);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new SettingError(field, `whole seconds from ${least}s to ${most}s`, written);
}
