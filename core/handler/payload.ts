import { PayloadInvalid } from '../errors.ts';
import { DEEPEST_JSON, jsonPointer } from '../json.ts';

const LARGEST_PAYLOAD_BYTES = 1_048_576;

/**
 * Returns the JSON text of a payload. Dates become ISO text; values that JSON would silently lose are refused.
 * @throws PayloadInvalid with the JSON pointer of the value that cannot be stored.
 */
export function payloadJson(payload: unknown): string {
  check(payload, [], new Set());
  const json = JSON.stringify(payload ?? {});
  const bytes = Buffer.byteLength(json);
  if (bytes > LARGEST_PAYLOAD_BYTES) {
    throw new PayloadInvalid(
      '',
      `has ${bytes} bytes, more than the limit of ${LARGEST_PAYLOAD_BYTES}: store it elsewhere and pass its address`,
    );
  }
  return json;
}

function check(given: unknown, path: string[], above: Set<object>): void {
  const value = inJson(given);
  const fault = faultOf(value);
  if (fault) throw invalidAt(path, fault);
  if (typeof value !== 'object' || value === null || value instanceof Date) return;
  if (above.has(value)) throw invalidAt(path, 'contains itself, which JSON cannot express');
  if (above.size > DEEPEST_JSON) throw invalidAt(path, `is nested more than ${DEEPEST_JSON} deep`);
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

/** Returns whether an object is a number, a text or a boolean, which JSON writes as such. */
function isBoxed(value: object): boolean {
  return value instanceof Number || value instanceof String || value instanceof Boolean;
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/**
 * Parses a stored payload with a handler's schema.
 * @throws PayloadInvalid when it is not JSON, a number would change its value, or the schema refuses it.
 */
export async function parsePayload(json: string, schema: PayloadSchema): Promise<unknown> {
  const result = await schema['~standard'].validate(readJson(json));
  if (result.issues === undefined) return result.value;
  const [first] = result.issues;
  const more = result.issues.length > 1 ? ` (and ${result.issues.length - 1} more)` : '';
  throw invalidAt(pathOf(first), `${first?.message ?? 'does not fit the schema'}${more}`);
}

/** Parses JSON. A later attempt cannot succeed either, so an error of the parser becomes one that is never retried. */
function readJson(json: string): unknown {
  try {
    return parseLossless(json);
  } catch (error) {
    throw error instanceof PayloadInvalid ? error : new PayloadInvalid('', faultOfJson(error));
  }
}

/** Describes a parser's error: the reviver works by recursion, and Postgres accepts thousands of levels. */
function faultOfJson(error: unknown): string {
  return error instanceof RangeError ? 'is nested too deeply' : `is not JSON: ${(error as Error).message}`;
}

function pathOf(issue: SchemaIssue | undefined): PropertyKey[] {
  return (issue?.path ?? []).map((part) => (typeof part === 'object' ? part.key : part));
}

/**
 * Parses JSON, and refuses a number that would lose precision in JavaScript: Postgres keeps every digit, and a wrong id
 * is worse than an error. The parser tells the reviver only the last key, so the number's path is found afterwards.
 */
function parseLossless(json: string): unknown {
  const lossy: { readonly source: string }[] = [];
  const value: unknown = JSON.parse(json, (_key, part: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (source === undefined || !isLossy(part, source)) return part;
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

function isLossy(value: unknown, source: string): boolean {
  if (typeof value !== 'number') return false;
  return !Number.isFinite(value) || (/^-?\d+$/.test(source) && !keepsDigits(source, value));
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
 * Returns whether JavaScript writes a whole number with these digits. It writes 2 ** 63 as 9223372036854776000, and
 * reads that as 2 ** 63: not every digit is exact, but the value is the same for the producer and the handler.
 */
function keepsDigits(source: string, value: number): boolean {
  return BigInt(source) === BigInt(value) || BigInt(source) === BigInt(value.toLocaleString('en', WRITTEN_OUT));
}

/** Options that write a number like `String(value)`, without an exponent. */
const WRITTEN_OUT = { useGrouping: false, maximumFractionDigits: 0 } as const;

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
