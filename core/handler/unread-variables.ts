import { closest } from '../text.ts';
import type { HandlerAddress } from './naming.ts';
import { isVariable, suffixOf, VARIABLES, type Variables } from './variables.ts';

const PREFIX = 'MILLRACE_';

/** Every variable with our prefix that the product reads, except those of `VARIABLES`. */
export const READ = [
  ...[
    'ACCOUNT',
    'API_AUTH',
    'API_IAM_SCOPES',
    'API_JWT_ALGORITHMS',
    'API_JWT_AUDIENCE',
    'API_JWT_ISSUER',
    'API_JWT_JWKS',
  ],
  ...[
    'API_KEY',
    'API_SIGN',
    'API_URL',
    'APP_SECRET',
    'AWAIT_ROUND',
    'CLAIM_LIMIT',
    'DATABASE_CA',
    'DATABASE_HOST',
    'DATABASE_NAME',
    'DATABASE_PORT',
    'DATABASE_SECRET',
    'DATABASE_USER',
  ],
  ...['DISPATCHER_FUNCTION', 'DISPATCH_MODE', 'DISPATCH_WINDOW', 'DRAIN', 'LAMBDA_ACCESS_KEY_ID'],
  ...[
    'LAMBDA_ENDPOINT',
    'LOG_JOB_STARTS',
    'METRICS',
    'METRICS_BY_JOB_TYPE',
    'MIGRATIONS',
    'POLL_INTERVAL',
    'QUEUE_URL',
    'QUEUE_URL_PREFIX',
  ],
  ...[
    'RETENTION',
    'RUNTIME_SECRET',
    'RUNTIME_USER',
    'SECRETS',
    'SQS_ACCESS_KEY_ID',
    'SQS_ENDPOINT',
    'STAGE',
    'TAKE_OVER',
    'TEST_DATABASE_URL',
    'VERSION',
  ],
].map((name) => PREFIX + name);

/** Variables of the tools of this repository, which read them themselves. */
const TOOLS = /^MILLRACE_(?:TEST|FAULT|BENCH|CI|BUSY|MOTO|MINISTACK|SCHEMATHESIS)(?:_|$)/;

/** Names that other job systems read, and a program that moves from them may still set. */
const FOREIGN: Readonly<Record<string, string>> = {
  MAX_RETRY_ATTEMPTS: VARIABLES.maxAttempts,
  MAX_RETRIES: VARIABLES.maxAttempts,
  MAX_ATTEMPTS: VARIABLES.maxAttempts,
  RETRY_DELAY_SECONDS: VARIABLES.delay,
  RETRY_DELAY: VARIABLES.delay,
  RETRY_BASE_DELAY: VARIABLES.base,
  RETRY_MAX_DELAY: VARIABLES.max,
  JOB_TIMEOUT: VARIABLES.timeout,
};
/** Further names that are common enough to be suggested, but only with our prefix. */
const MISNAMED: Readonly<Record<string, string>> = {
  ...FOREIGN,
  RETRIES: VARIABLES.maxAttempts,
  TIMEOUT: VARIABLES.timeout,
};

/** Returns a sentence for each variable that looks like a setting of Millrace and has no effect, sorted by name. */
export function unreadVariables(variables: Variables, handlers: readonly HandlerAddress[]): string[] {
  const suffixes = handlers.map(suffixOf);
  const read = [...READ, ...['', ...suffixes].flatMap((suffix) => Object.values(VARIABLES).map((one) => one + suffix))];
  return Object.keys(variables)
    .filter((name) => variables[name]?.trim() && !read.includes(name) && !TOOLS.test(name))
    .toSorted()
    .flatMap((name) => {
      const foreign = Object.hasOwn(FOREIGN, name) ? FOREIGN[name] : undefined;
      if (foreign !== undefined) return [`${name} has no effect: set ${foreign}${noteOn(name, foreign)}`];
      return name.startsWith(PREFIX) ? [unread(name, read, suffixes)] : [];
    });
}

function unread(name: string, read: readonly string[], suffixes: readonly string[]): string {
  const similar = misnamed(name, suffixes) ?? (isVariable(name) ? otherHandler(name, suffixes) : nearest(name, read));
  if (similar !== undefined) return `${name} has no effect; did you mean ${similar}?`;
  return `${name} has no effect: ${isVariable(name) ? 'no handler has this name' : 'Millrace reads no such variable'}`;
}

/** Returns our name for `MILLRACE_MAX_RETRIES`, with the suffix of a handler if it has one. */
function misnamed(name: string, suffixes: readonly string[]): string | undefined {
  const suffix = suffixes.find((one) => name.endsWith(one)) ?? '';
  const stem = name.slice(PREFIX.length, name.length - suffix.length);
  return Object.hasOwn(MISNAMED, stem) ? `${MISNAMED[stem]}${suffix}` : undefined;
}

/** Compares only the suffix, because the rest of the name is right. */
function otherHandler(name: string, suffixes: readonly string[]): string | undefined {
  const stem = Object.values(VARIABLES).find((one) => name.startsWith(`${one}_`)) ?? '';
  const similar = closest(name.slice(stem.length), suffixes);
  return similar === undefined ? undefined : `${stem}${similar}`;
}

/** Compares without our prefix, which would make any two names similar, and without case. */
function nearest(name: string, read: readonly string[]): string | undefined {
  const plain = (one: string) => one.slice(PREFIX.length).toLowerCase();
  const found = closest(plain(name), read.map(plain));
  return read.find((one) => plain(one) === found);
}

function noteOn(name: string, ours: string): string {
  if (ours !== VARIABLES.maxAttempts || name === 'MAX_ATTEMPTS') return '';
  return ', which counts the first attempt too';
}
