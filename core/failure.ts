import { inspect } from 'node:util';
import { fingerprint, type Traits } from './fingerprint.ts';
import { storable } from './text.ts';

/** An error in the form in which it is stored: text that Postgres accepts, cut to a limited size. */
export interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  /** Equal for errors of the same kind (`fingerprint.ts`). */
  readonly fingerprint: string;
}

const LONGEST_MESSAGE = 8_000;
const LONGEST_STACK = 32_000;
const LONGEST_NAME = 200;
/** How many errors of a chain of causes are read: a longer chain is probably a cycle. */
const MOST_CAUSES = 5;
/** Members of an AggregateError that a retry policy compares. */
const MOST_COMPARED = 100;
/** Members of an AggregateError that its message contains. */
const MOST_MEMBERS = 3;

/** Describes a thrown value of any kind; never throws itself. */
export function describeFailure(thrown: unknown): StoredError {
  const chain = chainOf(thrown);
  const first = traitsOf(thrown);
  const { name, message } = first;
  const stack = stackOf(chain);
  return {
    name: storable(name, LONGEST_NAME),
    message: storable(withCauses(message, chain), LONGEST_MESSAGE),
    stack: stack === null ? null : storable(stack, LONGEST_STACK),
    fingerprint: fingerprint([first, ...chain.slice(1).map(traitsOf)], stack),
  };
}

/** Returns the message of a thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/**
 * Returns the names, codes and class names that a retry policy can list: those of the thrown value first, then those of
 * the errors behind it. `fetch` throws a TypeError, and only its cause has the code ECONNREFUSED.
 */
export function failureLabels(thrown: unknown): string[] {
  const labels = attempt(() => labelsOf(thrown)) ?? [];
  const behind = errorsBehind(thrown).flatMap((error) => attempt(() => labelsOf(error)) ?? []);
  const all = new Set([...(isInstance(thrown, Error) ? [] : [typeof thrown]), ...labels, ...behind]);
  return [...all];
}

/** Returns the causes of an error, the members of an AggregateError, and theirs, level by level. */
function errorsBehind(thrown: unknown): unknown[] {
  const seen = new Set<unknown>([thrown]);
  let level: unknown[] = [thrown];
  for (let depth = 1; depth < MOST_CAUSES; depth++) {
    const next = level.flatMap(heldBy).filter((error) => !seen.has(error));
    level = [...new Set(next)].slice(0, MOST_COMPARED);
    for (const error of level) seen.add(error);
  }
  seen.delete(thrown);
  return [...seen];
}

/** Returns what an error holds: its cause, its members, and for a SuppressedError the two errors of `using`. */
function heldBy(holder: unknown): object[] {
  if (!isInstance(holder, Error)) return [];
  const read = (field: string) => attempt(() => (holder as unknown as Record<string, unknown>)[field]);
  const members = attempt(() => {
    const errors = read('errors');
    return Array.isArray(errors) ? errors.slice(0, MOST_COMPARED) : [];
  });
  const held = [
    read('cause'),
    ...(members ?? []),
    ...(isSuppressed(holder) ? [read('error'), read('suppressed')] : []),
  ];
  return held.filter((one): one is object => typeof one === 'object' && one !== null);
}

function isSuppressed(holder: Error): boolean {
  return text(() => holder.name) === 'SuppressedError';
}

/** A value that is not an Error has only a code, as the causes of some libraries do. */
function labelsOf(thrown: unknown): string[] {
  const code = text(() => (thrown as { code?: unknown } | null | undefined)?.code);
  if (!(thrown instanceof Error)) return code === '' ? [] : [code];
  const labels = [text(() => thrown.name), code];
  let prototype: unknown = Object.getPrototypeOf(thrown);
  while (prototype instanceof Object && prototype !== Object.prototype) {
    labels.push(text(() => (prototype as object).constructor.name));
    prototype = Object.getPrototypeOf(prototype);
  }
  return [...new Set(labels.filter((label) => label !== ''))];
}

function traitsOf(thrown: unknown): Traits {
  if (!isInstance(thrown, Error)) {
    return { name: 'NotAnError', code: '', message: `${show(thrown)} was thrown, which is not an Error` };
  }
  const name = text(() => thrown.name) || 'Error';
  const message = text(() => thrown.message) || `${name} without a message`;
  return { name, code: text(() => (thrown as { code?: unknown }).code), message };
}

/** Returns the error and its causes, because the first error is often only a wrapper. */
function chainOf(thrown: unknown): readonly Error[] {
  const chain: Error[] = [];
  for (let current = thrown; isInstance(current, Error) && chain.length < MOST_CAUSES; ) {
    const holder: Error = current;
    chain.push(holder);
    current = attempt(() => holder.cause);
  }
  return chain;
}

/**
 * Returns a message, followed by the messages of members and causes that it does not contain, such as `fetch failed:
 * connect ECONNREFUSED 127.0.0.1:5432`: lists and filters show only the message, and the message of a wrapper does not
 * name the cause.
 */
function withCauses(message: string, chain: readonly Error[]): string {
  const inner = chain.flatMap((error, depth) => [
    ...(depth === 0 ? [] : [text(() => error.message)]),
    membersOf(error),
  ]);
  return inner.reduce((all, part) => (part === '' || all.includes(part) ? all : `${all}: ${part}`), message);
}

function membersOf(error: Error): string {
  const members = attempt(() => (error as { errors?: unknown }).errors);
  if (!isInstance(error, AggregateError) || !Array.isArray(members)) return '';
  return members
    .slice(0, MOST_MEMBERS)
    .map((member) => traitsOf(member).message)
    .join('; ');
}

function stackOf(chain: readonly Error[]): string | null {
  const parts = chain.map((error) => text(() => error.stack)).filter((part) => part !== '');
  return parts.join('\ncaused by: ') || null;
}

function show(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'an empty text' : value;
  return attempt(() => inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY })) ?? 'something';
}

/** Returns the result of `instanceof`, or false when it throws, as it does for a revoked proxy. */
export function isInstance<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  return attempt(() => value instanceof type) ?? false;
}

function text(read: () => unknown): string {
  const value = attempt(read);
  return typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : (attempt(() => String(value)) ?? '');
}

/** Returns undefined when `read` throws: getters and proxies of a thrown object may throw themselves. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
