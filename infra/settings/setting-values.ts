import { readFileSync, statSync } from 'node:fs';
import { expandScopes } from '../../core/access/scopes.ts';
import { SettingError } from '../../core/errors.ts';
import { isVariable, VARIABLES } from '../../core/handler/variables.ts';
import { nameFault } from '../../core/settings/declared.ts';
import { type Context, optional } from './context.ts';
import { refuseSecret } from './secret-values.ts';

/** The pattern of a value, and its description for error messages. */
export interface Form {
  readonly pattern: RegExp;
  readonly expected: string;
}

const HEX = '(?:[0-9a-f]{8}|[0-9a-f]{17})';
const SECRET_EXPECTED = 'the full ARN of a secret in Secrets Manager, with the six characters at its end';

export const FORMS = {
  // The full ARN, so that a policy names the secret without a wildcard.
  secret: { pattern: /^arn:[\w-]+:secretsmanager:[\w-]+:\d{12}:secret:.+-\w{6}$/, expected: SECRET_EXPECTED },
  topic: { pattern: /^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+$/, expected: 'the ARN of an SNS topic' },
  email: { pattern: /^[^@\s]+@[^@\s]+\.[^@\s]+$/, expected: 'an email address such as oncall@example.com' },
  user: { pattern: /^[a-z_][a-z0-9_]{0,62}$/, expected: 'the name of a login in lower-case letters, digits and _' },
  databaseResource: {
    pattern: /^(cluster|db)-[A-Z0-9]+$/,
    expected: 'the resource id of a cluster or an instance of RDS, such as cluster-ABCDEFGHIJKL01234',
  },
  host: { pattern: /^[\w.-]+$/, expected: 'a host name alone, such as db.example.com' },
  webhook: { pattern: /^https:\/\/[^\s@/]+\.[^\s@]+$/, expected: 'a URL that begins with https://' },
  issuer: { pattern: /^https:\/\/[^\s@]+$/, expected: 'a URL that begins with https://' },
  domain: { pattern: /^([a-z0-9-]+\.)+[a-z]{2,}$/, expected: 'a host name in lower case, such as jobs.example.com' },
  certificate: {
    pattern: /^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/,
    expected: 'the ARN of a certificate of ACM in the region of the stack',
  },
  // Not an alias, which a policy cannot name.
  kmsKey: {
    pattern: /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/,
    expected: 'the ARN of a key of KMS in the region of the stack, which contains :key/',
  },
  vpc: { pattern: new RegExp(`^vpc-${HEX}$`), expected: 'the id of a VPC, such as vpc-0123456789abcdef0' },
  subnet: { pattern: new RegExp(`^subnet-${HEX}$`), expected: 'ids such as subnet-0123456789abcdef0' },
  handler: { pattern: /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$/, expected: 'handler names such as old_report' },
  securityGroup: { pattern: new RegExp(`^sg-${HEX}$`), expected: 'ids such as sg-0123456789abcdef0' },
} as const satisfies Record<string, Form>;

/** Returns the value. Throws SettingError unless it matches `form`. */
export function check(name: string, value: string, { pattern, expected }: Form): string {
  if (pattern.test(value)) return value;
  throw new SettingError(name, expected, value);
}

/** Returns the optional setting. Throws SettingError unless it matches `form`. */
export function formed(context: Context, name: string, form: Form): string | undefined {
  const value = optional(context, name);
  return value === undefined ? undefined : check(name, value, form);
}

export function checkPort(name: string, value: string): string {
  const port = Number(value);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return value;
  throw new SettingError(name, 'a port from 1 to 65535', value);
}

/** Returns the path. Throws SettingError unless it is a PEM file with certificates. */
export function checkCertificates(name: string, path: string): string {
  const file = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (file && readFileSync(path, 'utf8').includes('-----BEGIN CERTIFICATE-----')) return path;
  throw new SettingError(name, `the path of ${file ? 'a' : 'an existing'} PEM file with certificates`, path);
}

/** Returns the scopes or roles by ARN pattern. Throws SettingError for a wrong pattern or an unknown scope. */
export function checkIamScopes(name: string, given: Record<string, unknown>): Record<string, unknown> {
  for (const [pattern, words] of Object.entries(given)) {
    if (!pattern.startsWith('arn:')) throw new SettingError(name, 'ARN patterns, which begin with arn:', pattern);
    const known = Array.isArray(words) && words.length > 0 ? expandScopes(words.map(String)) : undefined;
    if (known === undefined)
      throw new SettingError(name, `known scopes or roles for ${pattern}`, JSON.stringify(words));
  }
  return given;
}

const RESERVED = /^(AWS_|LAMBDA_|MILLRACE_|_|NODE_OPTIONS$)/;
/** Lambda allows 4 KB of environment variables, and Millrace uses some of it. */
const MOST_BYTES = 3072;

function unreserved(key: string): string {
  const names = Object.values(VARIABLES);
  const ours = key.startsWith('MILLRACE_') ? `, except ${names.join(', ')}, alone or with the name of a handler` : '';
  return `a name that neither Lambda nor Millrace uses${ours}`;
}

/**
 * Returns the environment of handlers. Refuses secrets.
 * @param notSecret names of settings that only look like secrets
 */
export function checkEnvironment(
  name: string,
  texts: Record<string, unknown>,
  notSecret: readonly string[] = [],
): Record<string, string> {
  const example = '{"SMTP_FROM": "jobs@example.com"}';
  for (const [key, value] of Object.entries(texts)) {
    const field = `${name}.${key}`;
    if (!/^[A-Za-z_]\w+$/.test(key)) throw new SettingError(field, 'a name of at least two letters, digits or _', key);
    const isOurs = isVariable(key);
    if (RESERVED.test(key) && !isOurs) throw new SettingError(field, unreserved(key), key);
    if (typeof value !== 'string') throw new SettingError(field, `a string, as in ${example}`, JSON.stringify(value));
    // The name of a handler can contain such a word.
    if (!isOurs) refuseSecret(field, value, notSecret);
  }
  return checkBytes(name, texts as Record<string, string>);
}

/** Returns the variables of one function. Throws SettingError if they are too large for Lambda. */
export function checkBytes(name: string, texts: Readonly<Record<string, string>>): Record<string, string> {
  const bytes = Buffer.byteLength(JSON.stringify(texts));
  if (bytes <= MOST_BYTES) return texts;
  throw new SettingError(name, `at most ${MOST_BYTES} bytes in total`, bytes);
}

/**
 * Returns the ARNs of the secrets that handlers name, by these names.
 * @throws SettingError for an invalid name, and for a value that is not an ARN: not repeated, since it may be a secret
 */
export function checkHandlerSecrets(given: Record<string, unknown>): Record<string, string> {
  for (const [name, arn] of Object.entries(given)) {
    const fault = nameFault(name);
    if (fault !== undefined) throw new SettingError(`secrets.${name}`, fault, name);
    if (typeof arn === 'string' && FORMS.secret.pattern.test(arn)) continue;
    throw new SettingError(`secrets.${name}`, FORMS.secret.expected, '***');
  }
  return given as Record<string, string>;
}

/** Requires a secret per login, so that functions lack the rights of the owner, and all in one account and region. */
export function checkSecrets(secrets: Readonly<Record<string, string | undefined>>): void {
  const given = Object.entries(secrets).filter((one): one is [string, string] => one[1] !== undefined);
  const placeOf = (arn: string) => arn.split(':').slice(0, 5).join(':');
  const [first] = given;
  for (const [name, arn] of given) {
    const same = given.find(([other, its]) => other < name && its === arn);
    if (same) throw new SettingError(name, `a secret other than ${same[0]}, with its own login`, arn);
    if (first && placeOf(arn) !== placeOf(first[1])) {
      throw new SettingError(name, `a secret in the account and region of ${first[0]}`, arn);
    }
  }
}
