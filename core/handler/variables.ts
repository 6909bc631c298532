import { secondsOfText } from '../duration.ts';
import { SettingError } from '../errors.ts';
import { refuseAll } from '../settings/faults.ts';
import { ATTEMPTS_BOUNDS, TIMEOUT_BOUNDS } from './check-definition.ts';
import type { DefinitionData } from './definition.ts';
import { type HandlerAddress, handlerName } from './naming.ts';
import { LONGEST_DELAY_SECONDS, type RetryPolicy, retry } from './retry-policy.ts';
import { SOURCE_RETENTION_SECONDS, timingOf } from './timing.ts';

/** The variables of an environment by name; names other than those of `VARIABLES` are ignored. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The variables that set the attempts of handlers. The name alone applies to each handler whose definition does not
 * state the option. With the suffix of a handler it applies to that handler, and overrides its definition.
 */
export const VARIABLES = {
  maxAttempts: 'MILLRACE_MAX_ATTEMPTS',
  delay: 'MILLRACE_RETRY_DELAY',
  base: 'MILLRACE_RETRY_BASE_DELAY',
  max: 'MILLRACE_RETRY_MAX_DELAY',
  timeout: 'MILLRACE_JOB_TIMEOUT',
} as const;

/** The first delay of an exponential policy if only its cap is set. */
const FIRST_DELAY_SECONDS = 60;

const NAME = new RegExp(`^(?:${Object.values(VARIABLES).join('|')})(?:_[a-z][a-z0-9_]*)?$`);

/** Returns whether this is the name of one of the variables, for all handlers or for one. */
export function isVariable(name: string): boolean {
  return NAME.test(name);
}

/** Returns the suffix of a handler: `_send_reminder`, or `_index_record__vector` with a routing key. */
export function suffixOf({ jobType, routingKey }: HandlerAddress): string {
  return routingKey === '' ? `_${jobType}` : `_${jobType}__${routingKey}`;
}

/** Returns the variables that these handlers read, and that are set. */
export function variablesOf(handlers: readonly HandlerAddress[], variables: Variables): Record<string, string> {
  const suffixes = ['', ...handlers.map(suffixOf)];
  const names = suffixes.flatMap((suffix) => Object.values(VARIABLES).map((name) => `${name}${suffix}`));
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = variables[name]?.trim();
      return value ? [[name, value]] : [];
    }),
  );
}

/**
 * Returns the definition with the values of its variables.
 * @throws SettingError that names the variable whose value is invalid, or that the rest of the definition excludes.
 */
export function withVariables<Definition extends DefinitionData>(
  definition: Definition,
  variables: Variables,
): Definition {
  // Both are read, and so checked, even if the definition does not use them.
  const [all, own] = readLevels(variables, ['', suffixOf(definition)]);
  const unset = definition.unset ?? [];
  const defaults = {
    maxAttempts: unset.includes('maxAttempts') ? all.maxAttempts : undefined,
    timeout: unset.includes('timeout') ? all.timeout : undefined,
  };
  const timeout = own.timeout ?? defaults.timeout;
  const next = {
    ...definition,
    maxAttempts: own.maxAttempts ?? defaults.maxAttempts ?? definition.maxAttempts,
    timeoutSeconds: timeout ?? definition.timeoutSeconds,
    retry: policyOf(definition.retry, own, unset.includes('retry') ? all : undefined),
  };
  if (timeout !== undefined) checkTimeout(next, `${VARIABLES.timeout}${own.timeout ? suffixOf(definition) : ''}`);
  return next;
}

/** @throws SettingError that names every variable that these handlers read and whose value is invalid. */
export function checkVariables(handlers: readonly HandlerAddress[], variables: Variables): void {
  readLevels(variables, ['', ...handlers.map(suffixOf)]);
}

/** The values of the variables with one suffix, durations in seconds. */
type Level = { readonly [Key in keyof typeof VARIABLES]?: number };

/** @throws SettingError that names every variable whose value is invalid. */
function readLevels<Suffixes extends readonly string[]>(
  variables: Variables,
  suffixes: readonly [...Suffixes],
): { [Index in keyof Suffixes]: Level } {
  const faults: SettingError[] = [];
  const levels = suffixes.map((suffix) => readLevel(variables, suffix, faults));
  refuseAll(faults);
  return levels as { [Index in keyof Suffixes]: Level };
}

/** Adds a fault for each invalid value, and leaves the value out. */
function readLevel(variables: Variables, suffix: string, faults: SettingError[]): Level {
  const name = (key: keyof typeof VARIABLES) => `${VARIABLES[key]}${suffix}`;
  const isSet = (key: keyof typeof VARIABLES) => !!variables[name(key)]?.trim();
  const read = (key: keyof typeof VARIABLES, parse: (text: string, field: string) => number) => {
    try {
      const text = variables[name(key)]?.trim();
      return text ? { [key]: parse(text, name(key)) } : {};
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      faults.push(error);
      return {};
    }
  };
  const level: Level = {
    ...read('maxAttempts', attemptsOfText),
    ...read('timeout', timeoutOfText),
    ...read('delay', delayOfText),
    ...read('base', delayOfText),
    ...read('max', delayOfText),
  };
  const other = (['base', 'max'] as const).find(isSet);
  if (isSet('delay') && other !== undefined) {
    const expected = `no value, since ${name(other)} is set: a policy is either fixed or exponential`;
    faults.push(new SettingError(name('delay'), expected, variables[name('delay')]));
  }
  return level;
}

function attemptsOfText(text: string, field: string): number {
  const [least, most] = ATTEMPTS_BOUNDS;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SettingError(field, `a whole number from ${least} to ${most}`, text);
}

function timeoutOfText(text: string, field: string): number {
  const [least, most] = TIMEOUT_BOUNDS;
  const value = secondsOfText(text, field);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new SettingError(field, `whole seconds from ${least}s to ${most}s`, text);
}

function delayOfText(text: string, field: string): number {
  const value = secondsOfText(text, field);
  if (value <= LONGEST_DELAY_SECONDS) return value;
  throw new SettingError(field, 'at most 365d', text);
}

/** @param all the values for all handlers; undefined if the definition states its policy. */
function policyOf(policy: RetryPolicy, own: Level, all: Level | undefined): RetryPolicy {
  if (own.delay !== undefined) return fixed(policy, own.delay);
  const isOwn = own.base !== undefined || own.max !== undefined;
  if (!isOwn && all?.delay !== undefined) return fixed(policy, all.delay);
  const base = own.base ?? all?.base;
  const max = own.max ?? all?.max;
  return base === undefined && max === undefined ? policy : exponential(policy, base, max);
}

function fixed(policy: RetryPolicy, delay: number): RetryPolicy {
  return { ...retry.fixed(delay), ...kept(policy, 'fixed') };
}

/** Keeps what no variable sets of a policy that has it. */
function exponential(policy: RetryPolicy, base: number | undefined, max: number | undefined): RetryPolicy {
  const given = policy.kind === 'exponential' || policy.kind === 'linear' ? policy : undefined;
  const cap = max ?? given?.max;
  const first = base ?? given?.base ?? Math.min(FIRST_DELAY_SECONDS, cap ?? FIRST_DELAY_SECONDS);
  const factor = policy.kind === 'exponential' ? { factor: policy.factor } : {};
  const built = retry.exponential({ base: first, ...factor, ...(cap !== undefined && { max: cap }) });
  return { ...built, ...kept(policy, 'exponential') };
}

/** Returns what a policy says about other things than delays: its filters, and its jitter if it has the same kind. */
function kept(policy: RetryPolicy, kind: RetryPolicy['kind']) {
  const { retryOn, deadLetterOn, jitter } = policy;
  return {
    ...(policy.kind === kind && { jitter }),
    ...(retryOn && { retryOn }),
    ...(deadLetterOn && { deadLetterOn }),
  };
}

/** Checks the one rule of a definition that depends on its timeout and another option. */
function checkTimeout(definition: DefinitionData, variable: string): void {
  const { timeoutSeconds } = definition;
  const { dispatchedLease } = timingOf(definition);
  if (dispatchedLease < SOURCE_RETENTION_SECONDS) return;
  throw new SettingError(
    variable,
    `a shorter time, or a lower maxInFlight of ${handlerName(definition)}, because its last job may wait ` +
      `${dispatchedLease} s and SQS keeps a message for ${SOURCE_RETENTION_SECONDS} s`,
    timeoutSeconds,
  );
}
