import { describeFailure } from '../failure.ts';
import { storableJson } from '../text.ts';

const LONGEST_RESULT_BYTES = 64 * 1024;
/** Postgres refuses JSON nested some thousands deep; a result has no business to be. */
const DEEPEST_RESULT = 100;

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
    return depth(json) > DEEPEST_RESULT ? note('the result is nested too deeply') : storableJson(json);
  } catch (error) {
    return note(`the result is not JSON: ${describeFailure(error).message}`);
  }
}

function note(reason: string): string {
  return storableJson(JSON.stringify({ not_kept: reason.slice(0, 300) }));
}

/** How deep JSON text nests: brackets outside its strings. */
function depth(json: string): number {
  let level = 0;
  let deepest = 0;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[{]|[\]}]/g)) {
    if (token === '{' || token === '[') deepest = Math.max(deepest, ++level);
    else if (token === '}' || token === ']') level--;
  }
  return deepest;
}
