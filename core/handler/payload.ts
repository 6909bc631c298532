import { MOST_FAULTS, type PayloadFault, PayloadInvalid } from '../errors.ts';
import { DEEPEST_JSON, jsonDepth, jsonPointer } from '../json.ts';
import { countValues, keepsDigits, printedBytes, walkMembers } from '../json-text.ts';
import { isStorable } from '../text.ts';

/** The largest payload, in bytes of the text that Postgres prints; millrace.payload_text has the same limit. */
const LARGEST_PAYLOAD_BYTES = 1_048_576;
/** The largest number of JSON values in a payload: an object of two bytes takes sixty bytes of memory or more. */
const MOST_VALUES = 100_000;
const INSTEAD = 'store it elsewhere and pass its address';
const TOO_DEEP = `is nested more than ${DEEPEST_JSON} deep`;

/**
 * Returns the JSON text of a payload. Dates become ISO text; values that JSON would silently lose are refused.
 * @throws PayloadInvalid with the JSON pointer of the value that cannot be stored.
 */
export function payloadJson(payload: unknown): string {
  check(payload, [], new Set());
  const json = JSON.stringify(payload) ?? '{}';
  checkCount(json);
  checkSize(json);
  return json;
}

/**
 * Checks a payload that was sent as JSON text: whether Postgres stores it and JavaScript reads it without a change, and
 * whether it matches the schema, if one is given.
 * @throws PayloadInvalid with the JSON pointer of the fault.
 */
export async function checkPayloadText(json: string, schema?: PayloadSchema): Promise<void> {
  const value = readJson(json);
  walkMembers(json, ({ isDuplicate, path }) => {
    if (isDuplicate) throw invalidAt(path(), 'is a duplicate key: send it once');
  });
  check(value, [], new Set());
  checkSize(json);
  if (schema !== undefined) await matchSchema(value, schema);
}

/** Counts what Postgres prints, as the constraint of the table does: all interfaces refuse the same payloads. */
function checkSize(json: string): void {
  const bytes = printedBytes(json);
  if (bytes <= LARGEST_PAYLOAD_BYTES) return;
  throw new PayloadInvalid('', `has ${bytes} bytes, more than the limit of ${LARGEST_PAYLOAD_BYTES}: ${INSTEAD}`);
}

/** Counts before the values exist. Every value has at least one character, so a short text needs no count. */
function checkCount(json: string): void {
  const count = json.length < MOST_VALUES ? 0 : countValues(json);
  if (count > MOST_VALUES)
    throw new PayloadInvalid('', `has ${count} JSON values, more than the limit of ${MOST_VALUES}: ${INSTEAD}`);
}

function check(given: unknown, path: string[], above: Set<object>): void {
  const value = inJson(given);
  const fault = faultOf(value);
  if (fault) throw invalidAt(path, fault);
  if (typeof value !== 'object' || value === null || value instanceof Date) return;
  if (above.has(value)) throw invalidAt(path, 'contains itself, which JSON cannot express');
  if (above.size >= DEEPEST_JSON) throw invalidAt(path, TOO_DEEP);
  above.add(value);
  for (const [key, part] of Object.entries(value)) {
    path.push(key);
    if (!isStorable(key)) throw invalidAt(path, 'has a NUL or half a surrogate pair in its key');
    check(part, path, above);
    path.pop();
  }
  above.delete(value);
}

function invalidAt(path: readonly PropertyKey[], fault: string): PayloadInvalid {
  return new PayloadInvalid(jsonPointer(path), fault);
}

/** Returns the value that JSON stores: the result of `toJSON`, if the object has it. */
function inJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date || !('toJSON' in value)) return value;
  return typeof value.toJSON === 'function' ? value.toJSON() : value;
}

function faultOf(value: unknown): string | undefined {
  if (typeof value === 'bigint') return 'is a BigInt, which JSON cannot express: pass it as a string';
  if (typeof value === 'number' && !Number.isFinite(value)) return `is ${value}, which JSON cannot express`;
  if (typeof value === 'function' || typeof value === 'symbol')
    return `is a ${typeof value}, which JSON cannot express`;
  if (typeof value === 'string' && !isStorable(value))
    return 'has a NUL or half a surrogate pair, which Postgres refuses';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'is an invalid Date' : undefined;
  if (isOpaque(value)) return `is a ${value.constructor.name}, which JSON turns into {}: pass an array or an object`;
  return undefined;
}

/** Returns whether JSON ignores an object's content, as it does for a Map, a Set or a promise. */
export function isOpaque(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isBoxed(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== null && prototype !== Object.prototype && Object.keys(value).length === 0;
}

/** Returns whether an object is a number, a string or a boolean, which JSON writes as such. */
function isBoxed(value: object): boolean {
  return value instanceof Number || value instanceof String || value instanceof Boolean;
}

/**
 * Parses a stored payload with a handler's schema; null is a payload that is too large to read.
 * @throws PayloadInvalid when it is not JSON, has too many values, a number would change, or the schema refuses it.
 */
export async function parsePayload(json: string | null, schema: PayloadSchema): Promise<unknown> {
  if (json === null) throw new PayloadInvalid('', `has more than ${LARGEST_PAYLOAD_BYTES} bytes: ${INSTEAD}`);
  return matchSchema(readJson(json), schema);
}

async function matchSchema(value: unknown, schema: PayloadSchema): Promise<unknown> {
  const answer = schema['~standard'].validate(value);
  // Without a wait, the issues of one payload are garbage before the next one is validated.
  const result = answer instanceof Promise ? await answer : answer;
  if (result.issues === undefined) return result.value;
  const shown = result.issues.slice(0, MOST_FAULTS).map(faultIn);
  const [first = { field: '', message: 'does not fit the schema' }, ...others] = shown;
  throw new PayloadInvalid(first.field, first.message, { others, further: result.issues.length - shown.length });
}

/**
 * Parses JSON. A later attempt cannot succeed either, so an error of the parser is replaced by an error that is never
 * retried.
 */
function readJson(json: string): unknown {
  // Node reads JSON by recursion, and Postgres accepts thousands of levels. A level takes two characters.
  if (json.length > 2 * DEEPEST_JSON && jsonDepth(json) > DEEPEST_JSON) throw new PayloadInvalid('', TOO_DEEP);
  checkCount(json);
  try {
    return parseLossless(json);
  } catch (error) {
    throw error instanceof PayloadInvalid ? error : new PayloadInvalid('', `is not JSON: ${(error as Error).message}`);
  }
}

function faultIn({ path = [], message }: SchemaIssue): PayloadFault {
  return { field: jsonPointer(path.map((part) => (typeof part === 'object' ? part.key : part))), message };
}

/** Part of every number that may not be exact, which has over fifteen digits or an exponent, and of some strings. */
const LONG_NUMBER = /[\d.]{16}|\d[eE]/;

/**
 * Parses JSON, and refuses a number that JavaScript would change: Postgres keeps every digit, and a wrong id is worse
 * than an error. The parser passes only the last key to the reviver, so the number's path is found afterwards.
 */
function parseLossless(json: string): unknown {
  if (!LONG_NUMBER.test(json)) return JSON.parse(json);
  const lossy: { readonly source: string }[] = [];
  const value: unknown = JSON.parse(json, (_key, part: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (source === undefined || typeof part !== 'number' || keepsDigits(source, part)) return part;
    const marker = { source };
    lossy.push(marker);
    return marker;
  });
  const [first] = lossy;
  if (first === undefined) return value;
  const { source } = first;
  const shown = source.length > 40 ? `${source.slice(0, 40)}…` : source;
  throw invalidAt(pathTo(first, value) ?? [], `${shown} is not exact as a JavaScript number: enqueue it as a string`);
}

/** Returns the path to a part of a parsed document; undefined if the document does not contain it. */
function pathTo(part: object, whole: unknown): string[] | undefined {
  if (part === whole) return [];
  if (typeof whole !== 'object' || whole === null) return undefined;
  for (const [key, inner] of Object.entries(whole)) {
    const path = pathTo(part, inner);
    if (path !== undefined) return [key, ...path];
  }
  return undefined;
}

/**
 * The part of Standard Schema (standardschema.dev, version 1) that Millrace uses. zod, valibot, arktype and others
 * implement it, so Millrace depends on none of them.
 */
export interface PayloadSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type InferPayload<Schema extends PayloadSchema> = Schema extends PayloadSchema<infer Output> ? Output : never;
