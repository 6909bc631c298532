import { inspect } from 'node:util';
import { fingerprint, type Traits } from './fingerprint.ts';
import { storable } from './text.ts';
import { attempt, fieldOf, heldBy, isInstance, type Joined, join, textOf } from './thrown.ts';

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
/** Characters of a thrown value that is not an Error; the rest of the message is Millrace's. */
const LONGEST_SHOWN = 7_900;
/** How many errors of a chain of causes are read. */
const MOST_CAUSES = 5;
/** Members of an AggregateError that a retry policy compares. */
const MOST_COMPARED = 100;
/** Members of an AggregateError that its description contains, and the errors that a description contains in all. */
const MOST_MEMBERS = 3;
const MOST_PARTS = 16;

/** Characters of a text that are redacted for a fingerprint, which reads fewer. */
const MOST_REDACTED = 16_000;

/**
 * Describes a thrown value of any kind; never throws itself.
 * @param redact removes secrets from what the fingerprint covers: it could be compared with guesses. Default: nothing.
 */
export function describeFailure(thrown: unknown, redact?: (text: string) => string): StoredError {
  const parts = attempt(() => partsOf(thrown)) ?? [];
  const traits = [traitsOf(thrown), ...parts.slice(1).map(({ value }) => innerTraits(value))] as const;
  const message = withInner(traits, parts);
  const stacks = parts.map(({ value }) => (isInstance(value, Error) ? fieldOf(value, 'stack') : '')).filter(Boolean);
  const stack = joinStacks(stacks);
  return {
    name: storable(traits[0].name, LONGEST_NAME),
    message: storable(message.text, LONGEST_MESSAGE, message.length),
    stack: stacks.length === 0 ? null : storable(stack.text, LONGEST_STACK, stack.length),
    fingerprint: fingerprint(redact === undefined ? traits : traits.map((one) => redacted(one, redact)), stacks),
  };
}

function redacted({ name, code, message }: Traits, redact: (text: string) => string): Traits {
  const part = (text: string) => redact(text.slice(0, MOST_REDACTED));
  return { name: part(name), code: part(code), message: part(message) };
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
    const next = level.flatMap(objectsIn).filter((error) => !seen.has(error));
    level = [...new Set(next)].slice(0, MOST_COMPARED);
    for (const error of level) seen.add(error);
  }
  seen.delete(thrown);
  return [...seen];
}

function objectsIn(holder: unknown): object[] {
  const { members, cause } = heldBy(holder, MOST_COMPARED);
  return [cause, ...members].filter((one): one is object => typeof one === 'object' && one !== null);
}

/** A value that is not an Error has only a code, as the causes of some libraries do. */
function labelsOf(thrown: unknown): string[] {
  const code = fieldOf(thrown, 'code');
  if (!(thrown instanceof Error)) return code === '' ? [] : [code];
  const labels = [fieldOf(thrown, 'name'), code];
  let prototype: unknown = Object.getPrototypeOf(thrown);
  while (prototype instanceof Object && prototype !== Object.prototype) {
    labels.push(textOf(() => (prototype as object).constructor.name));
    prototype = Object.getPrototypeOf(prototype);
  }
  return [...new Set(labels.filter((label) => label !== ''))];
}

/** A value that a description contains, and what stands before its message. */
interface Part {
  readonly value: unknown;
  readonly joint: string;
}

/**
 * Returns a thrown value, its first members and its cause, each followed by its own, because the first error is often
 * only a wrapper.
 */
function partsOf(thrown: unknown): readonly Part[] {
  const parts: Part[] = [];
  const add = (value: unknown, joint: string, depth: number): void => {
    const seen = parts.some((part) => part.value === value);
    if (seen || value === '' || depth === MOST_CAUSES || parts.length === MOST_PARTS) return;
    parts.push({ value, joint });
    const { members, cause } = heldBy(value, MOST_MEMBERS);
    for (const [index, member] of members.entries()) add(member, index === 0 ? ': ' : '; ', depth + 1);
    if (cause !== undefined) add(cause, ': ', depth + 1);
  };
  add(thrown, '', 0);
  return parts;
}

function traitsOf(thrown: unknown): Traits {
  if (!isInstance(thrown, Error)) {
    return { name: 'NotAnError', code: '', message: `${show(thrown)} was thrown, which is not an Error` };
  }
  const name = fieldOf(thrown, 'name') || 'Error';
  const message = fieldOf(thrown, 'message') || `${storable(name, LONGEST_NAME)} without a message`;
  return { name, code: fieldOf(thrown, 'code'), message };
}

/** Returns the traits of a member or a cause, which is often a text or a plain object. */
function innerTraits(value: unknown): Traits {
  const isError = isInstance(value, Error);
  const [code, message] = [fieldOf(value, 'code'), fieldOf(value, 'message') || fieldOf(value, 'code')];
  return { name: isError ? fieldOf(value, 'name') : '', code, message: message || (isError ? '' : show(value)) };
}

/**
 * Returns a message, followed by the messages of members and causes that it does not contain, such as `fetch failed:
 * connect ECONNREFUSED 127.0.0.1:5432`: lists and filters show only the message, and the message of a wrapper does not
 * name the cause.
 */
function withInner(traits: readonly [Traits, ...Traits[]], parts: readonly Part[]): Joined {
  const [{ message }, ...inner] = traits;
  return inner.reduce(
    (all, part, index) =>
      all.text.includes(part.message.slice(0, LONGEST_MESSAGE))
        ? all
        : join(all, parts[index + 1]?.joint ?? '', part.message, LONGEST_MESSAGE),
    join({ text: '', length: 0 }, '', message, LONGEST_MESSAGE),
  );
}

function joinStacks(stacks: readonly string[]): Joined {
  return stacks.reduce((all, stack, index) => join(all, index === 0 ? '' : '\ncaused by: ', stack, LONGEST_STACK), {
    text: '',
    length: 0,
  });
}

function show(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'an empty text' : storable(value, LONGEST_SHOWN);
  const shown = attempt(() => inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY }));
  return shown === undefined ? 'something' : storable(shown, LONGEST_SHOWN);
}
