import { durationSetting, optionalSetting, wholeSetting } from '../config.ts';
import { SettingError } from '../errors.ts';

/** Bounds of the jobs that one claim takes, and its default. */
export const CLAIM_LIMITS = [1, 10_000] as const;
export const CLAIM_LIMIT = 1000;
/** Bounds of the pause between two rounds, in seconds, and its default. A longer pause would delay rescue. */
const POLL_BOUNDS = [0.1, 60] as const;
const POLL_INTERVAL = '1s';

/** Checks the pause between two rounds, in seconds. @throws SettingError that names `field` */
export function checkPollInterval(field: string, seconds: number): number {
  const [least, most] = POLL_BOUNDS;
  if (seconds >= least && seconds <= most) return seconds;
  throw new SettingError(field, `${least * 1000}ms to ${most}s`, `${seconds}s`);
}

/**
 * Returns how many jobs a claim takes, and the pause between two rounds in milliseconds, from the environment.
 * @throws SettingError that names the variable
 */
export function claimSettings(): { claimLimit: number; pollIntervalMs: number } {
  const name = 'MILLRACE_POLL_INTERVAL';
  return {
    claimLimit: wholeSetting('MILLRACE_CLAIM_LIMIT', CLAIM_LIMIT, CLAIM_LIMITS),
    pollIntervalMs: 1000 * checkPollInterval(name, durationSetting(name, POLL_INTERVAL)),
  };
}

/**
 * Returns the variables of this process that set them, for the dispatcher of a stack on this machine.
 * @throws SettingError that names the variable, before the stack starts
 */
export function claimVariables(): Record<string, string> {
  claimSettings();
  const names = ['MILLRACE_CLAIM_LIMIT', 'MILLRACE_POLL_INTERVAL'];
  return Object.fromEntries(
    names.flatMap((name) => [[name, optionalSetting(name) ?? '']]).filter(([, value]) => value),
  );
}
