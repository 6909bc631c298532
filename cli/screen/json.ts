import { DEEPEST_JSON, jsonDepth, parseExactly } from '../../core/json.ts';

export { exactJson, snakeCase, toJson } from '../../core/json.ts';

/** Returns the same JSON over several lines with every digit, or the text itself when it nests too deeply. */
export function indentJson(json: string): string {
  return jsonDepth(json) > DEEPEST_JSON ? json : JSON.stringify(parseExactly(json), null, 2);
}
