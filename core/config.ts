import { type Duration, seconds, secondsOfText } from './duration.ts';
import { SettingError } from './errors.ts';

/**
 * Returns one environment variable; only this file reads the environment. An empty value counts as missing.
 * @param expected what the error states as expected, such as `an address such as smtp://mail.example.com:587`.
 * @throws SettingError that names the setting when it is missing.
 */
export function setting(name: string, expected: string): string {
  const value = optionalSetting(name);
  if (value === undefined) throw new SettingError(name, expected, undefined);
  return value;
}

/** Returns one environment variable, or undefined when it is missing or empty. `constructor` can be its name. */
export function optionalSetting(name: string): string | undefined {
  return (Object.hasOwn(process.env, name) && process.env[name]?.trim()) || undefined;
}

/** Returns all variables of the environment that have a value. */
export function allSettings(): Record<string, string> {
  const pairs = Object.keys(process.env).map((name) => [name, optionalSetting(name)] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** Returns the environment of this process for psql, without the variables that libpq reads, and with its password. */
export function environmentOfPsql(password: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^PG/i.test(name));
  return { ...Object.fromEntries(kept), ...(password !== '' && { PGPASSWORD: password }) };
}

/** Returns the words of a comma-separated setting; an empty list when it is missing. */
export function listSetting(name: string): string[] {
  const words = optionalSetting(name)?.split(',') ?? [];
  return words.map((word) => word.trim()).filter((word) => word !== '');
}

/** Returns the ARNs of secrets by the names that handlers use, from `MILLRACE_SECRETS`: `TOKEN=arn:…,KEY=arn:…`. */
export function secretArns(): ReadonlyMap<string, string> {
  return new Map(
    listSetting('MILLRACE_SECRETS').map((pair) => {
      const equals = pair.indexOf('=');
      return [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );
}

/** Returns a duration setting in seconds, or `fallback` when it is missing. `text` is its value, if read elsewhere. */
export function durationSetting(name: string, fallback: Duration, text = optionalSetting(name)): number {
  return text === undefined ? seconds(fallback, name) : secondsOfText(text, name);
}

/** Returns a setting that is a whole number within bounds, or `fallback` when it is missing. */
export function wholeSetting(
  name: string,
  fallback: number,
  [least, most]: readonly [number, number],
  text = optionalSetting(name),
): number {
  if (text === undefined) return fallback;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SettingError(name, `a whole number from ${least} to ${most}`, text);
}

/** Returns a setting that is one of a closed list of words; the first is the default. */
export function choiceSetting<Choice extends string>(name: string, choices: readonly [Choice, ...Choice[]]): Choice {
  const value = optionalSetting(name) ?? choices[0];
  const choice = choices.find((one) => one === value);
  if (choice === undefined) throw new SettingError(name, `one of ${choices.join(', ')}`, value);
  return choice;
}

/** Returns the address of the database: `postgres://user:password@host:port/database`. */
export function databaseUrl(): string {
  return setting('DATABASE_URL', 'the address of the database, such as postgres://user:password@host:5432/name');
}

/** Returns the stage of a deployment, and its account and region. @throws SettingError without a stage */
export function deployedHome() {
  return {
    stage: setting('MILLRACE_STAGE', 'the stage, which is part of every name'),
    account: optionalSetting('MILLRACE_ACCOUNT'),
    region: optionalSetting('AWS_REGION'),
  };
}

/** Returns whether metrics are published, whether with `job_type`, whose every value costs, and the stage's name. */
export function metricSettings(): { publish: boolean; byJobType: boolean; stage: string | undefined } {
  return {
    publish: choiceSetting('MILLRACE_METRICS', ['on', 'off']) === 'on',
    byJobType: choiceSetting('MILLRACE_METRICS_BY_JOB_TYPE', ['on', 'off']) === 'on',
    stage: optionalSetting('MILLRACE_STAGE'),
  };
}

/** Returns whether the registry step waits for a round of the dispatcher before alarms are created. */
export function awaitsRound(): boolean {
  return choiceSetting('MILLRACE_AWAIT_ROUND', ['off', 'on']) === 'on';
}

/** Returns whether handlers log the start of each attempt. */
export function logsJobStarts(): boolean {
  return choiceSetting('MILLRACE_LOG_JOB_STARTS', ['on', 'off']) === 'on';
}

/**
 * Returns the address of a service outside AWS; undefined for AWS itself, whose client reads the region, credentials
 * and endpoint from the environment.
 */
export function serviceAddress(service: 'SQS' | 'LAMBDA') {
  const endpoint = optionalSetting(`MILLRACE_${service}_ENDPOINT`);
  // Servers outside AWS do not verify signatures, but a client refuses to send a request without credentials. Some
  // servers require their own access key.
  const accessKeyId = optionalSetting(`MILLRACE_${service}_ACCESS_KEY_ID`) ?? 'none';
  const credentials = { accessKeyId, secretAccessKey: 'none' };
  return endpoint === undefined ? undefined : { endpoint, region: 'us-east-1', credentials };
}

/**
 * Returns the database and the login that IAM authenticates; undefined when it uses a secret or `DATABASE_URL`.
 * @throws SettingError when a part of the address is missing.
 */
export function databaseUser() {
  const user = optionalSetting('MILLRACE_DATABASE_USER');
  if (user === undefined) return undefined;
  return {
    user,
    host: setting('MILLRACE_DATABASE_HOST', 'the host name of the database, as RDS states it'),
    port: wholeSetting('MILLRACE_DATABASE_PORT', 5432, [1, 65_535]),
    database: setting('MILLRACE_DATABASE_NAME', 'the name of the database'),
    caFile: databaseAuthorities(),
  };
}

function databaseAuthorities(): string {
  return setting('MILLRACE_DATABASE_CA', 'the path of a PEM file with the certificate authorities of the database');
}

/**
 * Returns the Secrets Manager secret that contains the database login; undefined when the process uses `DATABASE_URL`.
 * @throws SettingError when the setting for its certificates is missing.
 */
export function databaseSecret() {
  const arn = optionalSetting('MILLRACE_DATABASE_SECRET');
  if (arn === undefined) return undefined;
  return {
    arn,
    host: optionalSetting('MILLRACE_DATABASE_HOST'),
    port: optionalSetting('MILLRACE_DATABASE_PORT'),
    database: optionalSetting('MILLRACE_DATABASE_NAME'),
    caFile: databaseAuthorities(),
  };
}
