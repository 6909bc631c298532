import { type Duration, seconds } from './duration.ts';
import { SettingError } from './errors.ts';

/**
 * One setting of the process's environment; this file is the only reader of it. An empty value counts as missing.
 * @param expected the expectation that the error states, such as `an address such as smtp://mail.example.com:587`.
 * @throws SettingError that names the setting when it is missing.
 */
export function setting(name: string, expected: string): string {
  const value = optionalSetting(name);
  if (value === undefined) throw new SettingError(name, expected, undefined);
  return value;
}

export function optionalSetting(name: string): string | undefined {
  return process.env[name]?.trim() || undefined;
}

/** A setting that holds words with commas between them; none when it is missing. */
export function listSetting(name: string): string[] {
  const words = optionalSetting(name)?.split(',') ?? [];
  return words.map((word) => word.trim()).filter((word) => word !== '');
}

/** A setting that holds a duration, in seconds; `fallback` when it is missing. */
export function durationSetting(name: string, fallback: Duration): number {
  return seconds(optionalSetting(name) ?? fallback, name);
}

/** One of a closed list of words; the first is the default. */
export function choiceSetting<Choice extends string>(name: string, choices: readonly [Choice, ...Choice[]]): Choice {
  const value = optionalSetting(name) ?? choices[0];
  const choice = choices.find((one) => one === value);
  if (choice === undefined) throw new SettingError(name, `one of ${choices.join(', ')}`, value);
  return choice;
}

/** Where the jobs are: `postgres://user:password@host:port/database`. */
export function databaseUrl(): string {
  return setting('DATABASE_URL', 'the address of the database, such as postgres://user:password@host:5432/name');
}

/** Of the metrics in CloudWatch: whether job types are told apart, each of which is paid for, and whose they are. */
export function metricSettings(): { byJobType: boolean; stage: string | undefined } {
  return {
    byJobType: choiceSetting('MILLRACE_METRICS_BY_JOB_TYPE', ['on', 'off']) === 'on',
    stage: optionalSetting('MILLRACE_STAGE'),
  };
}

/**
 * The secret of Secrets Manager that holds a login to the database; undefined where `DATABASE_URL` says it all.
 * @throws SettingError when the certificates that belong to it are not named.
 */
export function databaseSecret() {
  const arn = optionalSetting('MILLRACE_DATABASE_SECRET');
  if (arn === undefined) return undefined;
  return {
    arn,
    host: optionalSetting('MILLRACE_DATABASE_HOST'),
    port: optionalSetting('MILLRACE_DATABASE_PORT'),
    database: optionalSetting('MILLRACE_DATABASE_NAME'),
    caFile: setting('MILLRACE_DATABASE_CA', 'the path of a PEM file with the certificate authorities of the database'),
  };
}
