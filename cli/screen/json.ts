import { DEEPEST_JSON, toJson as documentJson, jsonDepth, parseExactly } from '../../core/json.ts';
import { visibleJson } from '../../core/text.ts';

export { exactJson, snakeCase } from '../../core/json.ts';

/** Returns one document on one line, which cannot control a terminal. */
export function toJson(value: unknown): string {
  return visibleJson(documentJson(value));
}

/** Returns the same JSON over several lines with every digit, or on one line when it nests too deeply. */
export function indentJson(json: string): string {
  return visibleJson(jsonDepth(json) > DEEPEST_JSON ? json : JSON.stringify(parseExactly(json), null, 2));
}
