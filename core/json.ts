/**
 * The deepest JSON that is accepted in a payload, stored as a result and nested in a document. Node reads and writes
 * JSON by recursion and overflows its stack near 2,500 levels; Postgres stores several thousand.
 */
export const DEEPEST_JSON = 500;

/** Returns how deep JSON text nests, by the brackets outside its strings. */
export function jsonDepth(json: string): number {
  let level = 0;
  let deepest = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at++) {
    const sign = json[at];
    if (sign === '\\') at += 1;
    else if (sign === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (sign === '{' || sign === '[') deepest = Math.max(deepest, ++level);
    else if (sign === '}' || sign === ']') level -= 1;
  }
  return deepest;
}

/** Node provides this function; the TypeScript library does not declare it yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/**
 * Parses JSON text into a value for `JSON.stringify`, which writes each number with its digits in the text.
 * Integer-like keys come first, as in every JavaScript object; jsonb does not keep the order of keys either.
 */
export function parseExactly(json: string): unknown {
  return JSON.parse(json, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && context?.source !== undefined ? rawJSON(context.source) : value,
  );
}

/** Parses JSON text for a part of a document. JSON that nests too deeply stays text. */
export function exactJson(json: string): unknown {
  return jsonDepth(json) > DEEPEST_JSON ? json : parseExactly(json);
}

/** Returns the JSON pointer of a path, as in RFC 6901; empty for the whole document. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Returns one document on one line. Dates become ISO text; undefined becomes null. */
export function toJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

/** Renames the fields of a record from `jobType` to `job_type`, as the columns are named. */
export function snakeCase(record: object): Record<string, unknown> {
  const rename = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [rename(name), value]));
}
