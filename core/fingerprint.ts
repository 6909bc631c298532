import { createHash } from 'node:crypto';
import { maskValues } from './mask-values.ts';

/** What a fingerprint reads of an error, and of its members and causes after it. */
export interface Traits {
  readonly name: string;
  /** The error's `code`, such as `ECONNREFUSED`; empty without one. */
  readonly code: string;
  readonly message: string;
}

/** Characters of a message that are read, and characters of the masked message that count. */
const READ = 8_000;
const COUNTED = 1_000;
/** Characters of a stack, after its message, that are searched for a frame of user code. */
const FRAMES = 8_000;

/**
 * Returns a hash that is equal for errors of one kind: it covers the name, the code and the message without its values,
 * of the error, of its first members and of its causes, and the first function of user code in their stacks.
 */
export function fingerprint(errors: readonly Traits[], stacks: readonly string[]): string {
  const parts = errors.map(({ name, code, message }) => [
    name.slice(0, READ),
    /^\w[\w.-]{0,63}$/.test(code) ? code : '',
    maskValues(message.slice(0, READ)).slice(0, COUNTED),
  ]);
  const place = stacks.map(placeOf).find((found) => found !== '') ?? '';
  return createHash('md5')
    .update(JSON.stringify([parts, place]))
    .digest('hex');
}

/**
 * Returns the fingerprint of an error that Millrace itself raised about an attempt. User code did not throw it: the
 * handler replaces the function. A stack, if any, shows where the code happened to be.
 */
export function fingerprintInHandler({ name, message }: Omit<Traits, 'code'>, handler: string): string {
  const words = maskValues(message.slice(0, READ)).slice(0, COUNTED);
  return createHash('md5')
    .update(JSON.stringify([name, words, handler]))
    .digest('hex');
}

/**
 * Returns function and file of the first frame of user code. Lines, columns and folders move with a
 * deployment, and frames of Node, of packages and of Millrace differ between two errors of one kind.
 */
export function placeOf(stack: string): string {
  const start = stack.indexOf('\n    at ');
  if (start < 0) return '';
  for (const line of stack.slice(start, start + FRAMES).split('\n')) {
    const place = /^\s{4,8}at /.test(line) ? placeOfFrame(line.trim().slice(3, 500)) : undefined;
    if (place !== undefined) return place;
  }
  return '';
}

/** Millrace's own files that can be in the stack of a handler, as sources and as the package. */
const OWN =
  /\/(?:core\/(?:(?:run|handler|aws|jobs|postgres)\/)?|functions\/handler|local\/lambda\/boot)[\w-]*\.m?[jt]s$/;
const FOREIGN = /^(?:node:|internal\/|native$|index \d|<anonymous>$|\/var\/runtime\/|\/opt\/)|\/node_modules\//;

function placeOfFrame(frame: string): string | undefined {
  const [, called = '', location = frame] = /^([^(]*) \((.+)\)$/.exec(frame) ?? [];
  const file = location
    .replace(/^async /, '')
    .replaceAll('\\', '/')
    .replace(/^file:\/\//, '')
    .replace(/:\d+:\d+$/, '')
    .replace(/\?[^/]*$/, '');
  if (FOREIGN.test(file) || OWN.test(file)) return undefined;
  const base = file.slice(file.lastIndexOf('/') + 1).replace(/\.[cm]?[jt]sx?$/, '');
  return `${functionOf(called)} ${maskValues(base)}`;
}

/** Returns the name of a function without its receiver, which a bundle renames; names of two letters are its own. */
function functionOf(called: string): string {
  const name = called.replace(/ \[as .*$/, '').replace(/^(?:async |new )+/, '');
  const last = name.slice(name.lastIndexOf('.') + 1);
  return last.length > 2 && !last.includes('<') ? last : '';
}
