import { durationSetting, optionalSetting, wholeSetting } from '../config.ts';
import { SettingError } from '../errors.ts';
import type { Variables } from '../handler/variables.ts';

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

/** The names of the variables that `claimSettings` reads. */
const NAMES = { limit: 'MILLRACE_CLAIM_LIMIT', pause: 'MILLRACE_POLL_INTERVAL' } as const;

/**
 * Returns how many jobs a claim takes, and the pause between two rounds in milliseconds, from these variables, by
 * default those of this process.
 * @throws SettingError that names the variable
 */
export function claimSettings(variables?: Variables): { claimLimit: number; pollIntervalMs: number } {
  const textOf = (name: string) => (variables === undefined ? optionalSetting(name) : variables[name]);
  const { limit, pause } = NAMES;
  const seconds = durationSetting(pause, POLL_INTERVAL, textOf(pause));
  return {
    claimLimit: wholeSetting(limit, CLAIM_LIMIT, CLAIM_LIMITS, textOf(limit)),
    pollIntervalMs: 1000 * checkPollInterval(pause, seconds),
  };
}

/**
 * Returns those of the variables that set them, for the dispatcher of a stack on this machine.
 * @throws SettingError that names the variable, before the stack starts
 */
export function claimVariables(variables: Variables): Record<string, string> {
  claimSettings(variables);
  return Object.fromEntries(Object.values(NAMES).flatMap((name) => pair(name, variables[name])));
}

function pair(name: string, value: string | undefined): [string, string][] {
  return value === undefined ? [] : [[name, value]];
}
