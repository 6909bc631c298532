import { PayloadInvalid } from './errors.ts';
import type { PayloadSchema, SchemaIssue } from './schema.ts';

const LARGEST_PAYLOAD_BYTES = 1_048_576;

/**
 * JSON text of a payload to enqueue. Dates become ISO text, as JSON has it; whatever JSON would lose in silence is refused.
 * @throws PayloadInvalid with the JSON pointer of the value that cannot be kept.
 */
export function payloadJson(payload: unknown): string {
  check(payload, '', new Set());
  const json = JSON.stringify(payload ?? {});
  const bytes = Buffer.byteLength(json);
  if (bytes > LARGEST_PAYLOAD_BYTES) {
    throw new PayloadInvalid(
      '',
      `has ${bytes} bytes, at most ${LARGEST_PAYLOAD_BYTES} are taken: store it elsewhere and pass its address`,
    );
  }
  return json;
}

function check(value: unknown, pointer: string, above: Set<object>): void {
  const fault = faultOf(value);
  if (fault) throw new PayloadInvalid(pointer, fault);
  if (typeof value !== 'object' || value === null || value instanceof Date) return;
  if (above.has(value)) throw new PayloadInvalid(pointer, 'contains itself, which JSON cannot express');
  if (above.size > 500) throw new PayloadInvalid(pointer, 'is nested more than 500 deep');
  above.add(value);
  for (const [key, part] of Object.entries(value)) {
    const inner = `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (!isStorable(key)) throw new PayloadInvalid(inner, 'has a NUL or half a surrogate pair in its key');
    check(part, inner, above);
  }
  above.delete(value);
}

function faultOf(value: unknown): string | undefined {
  if (typeof value === 'bigint') return 'is a BigInt, which JSON cannot express: pass it as a string';
  if (typeof value === 'number' && !Number.isFinite(value)) return `is ${value}, which JSON cannot express`;
  if (typeof value === 'function' || typeof value === 'symbol')
    return `is a ${typeof value}, which JSON cannot express`;
  if (typeof value === 'string' && !isStorable(value))
    return 'has a NUL or half a surrogate pair, which Postgres refuses';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'is an invalid Date' : undefined;
  if (value instanceof Map || value instanceof Set || value instanceof WeakMap || value instanceof WeakSet) {
    return `is a ${value.constructor.name}, which JSON turns into {}: pass an array or an object`;
  }
  return undefined;
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/**
 * A stored payload, as a handler's schema wants it.
 * @throws PayloadInvalid when a number would change its value on the way, or the schema refuses.
 */
export async function parsePayload(json: string, schema: PayloadSchema): Promise<unknown> {
  const value: unknown = JSON.parse(json, refuseLossyNumber);
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return result.value;
  const [first] = result.issues;
  const more = result.issues.length > 1 ? ` (and ${result.issues.length - 1} more)` : '';
  throw new PayloadInvalid(pointerOf(first), `${first?.message ?? 'does not fit the schema'}${more}`);
}

function pointerOf(issue: SchemaIssue | undefined): string {
  const path = issue?.path ?? [];
  return path.map((part) => `/${String(typeof part === 'object' ? part.key : part)}`).join('');
}

/** Postgres keeps every digit, a JavaScript number does not: an id that arrives changed is worse than none. */
function refuseLossyNumber(key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined) return value;
  const whole = /^-?\d+$/.test(source);
  if (!Number.isFinite(value) || (whole && BigInt(source) !== BigInt(value))) {
    const shown = source.length > 40 ? `${source.slice(0, 40)}…` : source;
    throw new PayloadInvalid(`/…/${key}`, `${shown} is not exact as a JavaScript number: enqueue it as a string`);
  }
  return value;
}
