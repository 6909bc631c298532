import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import { storable } from './text.ts';

/** An error in the form in which it is stored: text that Postgres accepts, cut to a limited size. */
export interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  /** Hash of the name, the message without its numbers, and the first frames: equal for errors of the same kind. */
  readonly fingerprint: string;
}

const LONGEST_MESSAGE = 8_000;
const LONGEST_STACK = 32_000;
const LONGEST_NAME = 200;
/** Characters of a message that its fingerprint includes. */
const FINGERPRINT_PART = 500;

/** Describes a thrown value of any kind; never throws itself. */
export function describeFailure(thrown: unknown): StoredError {
  const { name, message, stack } = read(thrown);
  return {
    name: storable(name, LONGEST_NAME),
    message: storable(message, LONGEST_MESSAGE),
    stack: stack === null ? null : storable(stack, LONGEST_STACK),
    fingerprint: fingerprint(name, message, stack),
  };
}

/** Returns the message of a thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Returns the name, code and class names that a retry policy can list, the most specific first. */
export function failureLabels(thrown: unknown): string[] {
  return attempt(() => labelsOf(thrown)) ?? [typeof thrown];
}

function labelsOf(thrown: unknown): string[] {
  if (!(thrown instanceof Error)) return [typeof thrown];
  const labels = [text(() => thrown.name), text(() => (thrown as { code?: unknown }).code)];
  let prototype: unknown = Object.getPrototypeOf(thrown);
  while (prototype instanceof Object && prototype !== Object.prototype) {
    labels.push(text(() => (prototype as object).constructor.name));
    prototype = Object.getPrototypeOf(prototype);
  }
  return [...new Set(labels.filter((label) => label !== ''))];
}

function read(thrown: unknown): { name: string; message: string; stack: string | null } {
  if (!isInstance(thrown, Error)) {
    return { name: 'NotAnError', message: `${show(thrown)} was thrown, which is not an Error`, stack: null };
  }
  const message = text(() => thrown.message);
  const name = text(() => thrown.name) || 'Error';
  return { name, message: message === '' ? `${name} without a message` : message, stack: stackOf(thrown) };
}

/** Returns the stack with those of its causes, because the first error is often only a wrapper. */
function stackOf(error: Error): string | null {
  const parts: string[] = [];
  for (let current: unknown = error; isInstance(current, Error) && parts.length < 5; ) {
    const holder: Error = current;
    parts.push(text(() => holder.stack));
    current = attempt(() => holder.cause);
  }
  return parts.filter((part) => part !== '').join('\ncaused by: ') || null;
}

function show(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'an empty text' : value;
  return attempt(() => inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY })) ?? 'something';
}

function fingerprint(name: string, message: string, stack: string | null): string {
  const plain = message.slice(0, FINGERPRINT_PART).replace(/[0-9a-f]{8,}|\d+/gi, '#');
  const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const place = frames.slice(0, 2).map((line) => line.replace(/:\d+:\d+/g, '').replace(/\?v=\w+/g, ''));
  return createHash('md5')
    .update([name, plain, ...place].join('\n'))
    .digest('hex');
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
