import { describeFailure } from '../failure.ts';
import { DEEPEST_JSON, jsonDepth } from '../json.ts';
import { storableJson } from '../text.ts';

const LONGEST_RESULT_BYTES = 64 * 1024;

/**
 * JSON text of what a handler returned, or null for nothing. What cannot be kept is replaced by an object that says so:
 * the work is done, and its answer must not turn it into a failure.
 */
export function resultJson(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  try {
    const json = JSON.stringify(value);
    if (json === undefined) return null;
    const bytes = Buffer.byteLength(json);
    if (bytes > LONGEST_RESULT_BYTES) return note(`the result has ${bytes} bytes, ${LONGEST_RESULT_BYTES} are kept`);
    return jsonDepth(json) > DEEPEST_JSON ? note('the result is nested too deeply') : storableJson(json);
  } catch (error) {
    return note(`the result is not JSON: ${describeFailure(error).message}`);
  }
}

function note(reason: string): string {
  return storableJson(JSON.stringify({ not_kept: reason.slice(0, 300) }));
}
