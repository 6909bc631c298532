import { describeFailure } from '../../failure.ts';
import { isOpaque } from '../../handler/payload.ts';
import { DEEPEST_JSON, jsonDepth } from '../../json.ts';
import { startOf, storableJson } from '../../text.ts';

const LONGEST_RESULT_BYTES = 64 * 1024;

/**
 * Returns the JSON text of a handler's result, or null without a result. What JSON would silently lose is written in
 * another form, and what cannot be stored is replaced by an object with the reason: the work is done, and its result
 * must not fail the attempt.
 */
export function resultJson(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  try {
    const json = JSON.stringify(value, expressible);
    if (json === undefined) return null;
    const bytes = Buffer.byteLength(json);
    if (bytes > LONGEST_RESULT_BYTES)
      return notStored(`the result has ${bytes} bytes, more than the limit of ${LONGEST_RESULT_BYTES}`);
    return jsonDepth(json) > DEEPEST_JSON ? notStored('the result is nested too deeply') : storableJson(json);
  } catch (error) {
    return notStored(`the result is not JSON: ${describeFailure(error).message}`);
  }
}

/** Replaces a value that JSON turns into `{}`, whatever it contains. */
function expressible(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (value instanceof Map || value instanceof Set) return [...value];
  if (value instanceof Error) {
    const { name, message } = describeFailure(value);
    const { code } = value as { code?: unknown };
    return { name, message, ...(['string', 'number'].includes(typeof code) && { code }) };
  }
  return isOpaque(value) ? { not_kept: `a ${value.constructor.name}, which JSON turns into {}` } : value;
}

function notStored(reason: string): string {
  return storableJson(JSON.stringify({ not_kept: startOf(reason, 300) }));
}

/** Returns whether a value can be awaited, whatever its own code does. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  try {
    return typeof (value as PromiseLike<unknown> | undefined)?.then === 'function';
  } catch {
    return false;
  }
}
