import { optionalSetting, secretArns } from '../config.ts';
import type { Log } from '../log.ts';
import type { Declared } from './declared.ts';
import { refuseAll } from './faults.ts';
import { missingValues, type NamedValues, withDefaults } from './named-values.ts';
import { READ_LIMIT_MS, readSecretText, SecretError } from './read-secret.ts';
import type { Redactor } from './redactor.ts';

/** How long the value of a secret is used before it is read again: a rotated one is seen within this time. */
export const SECRET_SECONDS = 300;
/** Time until the next read after one that failed, in seconds, and the longest duration of such a read. */
const AGAIN_SECONDS = 30;
const AGAIN_LIMIT_MS = 2000;

const EXPECTED = {
  setting: (name: string) => `${name} in the environment of the function`,
  secret: (name: string) => `${name} or its ARN in MILLRACE_SECRETS in the environment of the function`,
};

export interface ValuesDeps {
  readonly redactor: Redactor;
  readonly log: Log;
  /** Reads the text of a secret by its ARN. */
  readonly read?: typeof readSecretText;
  /** The time of day in milliseconds: a function that rests between two invocations has no other clock. */
  readonly now?: () => number;
}

/** The value of one secret, and when it was read. */
interface Known {
  readonly value: string;
  readonly at: number;
  readonly seconds: number;
}

/**
 * Returns a function that reads the settings and secrets of a definition: from the environment of this process, and
 * secrets with an ARN from Secrets Manager, each again when its value is older than `SECRET_SECONDS`. If that read
 * fails, the earlier value is used. It throws SecretError for a secret that was never read.
 * @throws SettingError that names what the environment lacks
 */
export function openValues(declared: Declared, deps: ValuesDeps): () => Promise<NamedValues> {
  const arns = secretArns();
  const secretOf = (name: string) => arns.get(name) ?? optionalSetting(name);
  refuseAll(missingValues(declared, { settings: optionalSetting, secrets: secretOf, expected: EXPECTED }));
  const settings = Object.freeze(withDefaults(declared, optionalSetting));
  const known = new Map<string, Known>();
  const { redact } = deps.redactor;
  return async () => {
    const pairs = (declared.secrets ?? []).map(async (name) => {
      const arn = arns.get(name);
      const value = arn === undefined ? (optionalSetting(name) ?? '') : await presentValue({ name, arn }, known, deps);
      deps.redactor.add(name, value);
      return [name, value] as const;
    });
    return { settings, secrets: Object.freeze(Object.fromEntries(await Promise.all(pairs))), redact };
  };
}

async function presentValue(
  { name, arn }: { name: string; arn: string },
  known: Map<string, Known>,
  { log, read = readSecretText, now = Date.now }: ValuesDeps,
): Promise<string> {
  const before = known.get(name);
  const at = now();
  // The clock can have been set back.
  if (before !== undefined && at >= before.at && at < before.at + before.seconds * 1000) return before.value;
  try {
    const value = await read(arn, { limitMs: before === undefined ? READ_LIMIT_MS : AGAIN_LIMIT_MS });
    if (value === '') throw new SecretError(arn, 'expected text, and it has none');
    known.set(name, { value, at, seconds: SECRET_SECONDS });
    return value;
  } catch (error) {
    if (before === undefined) throw error;
    log.warn('secret_unreadable', { secret: name, error });
    known.set(name, { ...before, at, seconds: AGAIN_SECONDS });
    return before.value;
  }
}
