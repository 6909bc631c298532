import { isUtf8 } from 'node:buffer';
import { messageOf } from '../core/failure.ts';
import { DEEPEST_JSON, jsonPointer, parseExactly } from '../core/json.ts';
import { invalidBody, Problem } from './problem.ts';

/** The largest body, in bytes. */
const MOST_BODY_BYTES = 1_048_576;

/** A parsed body: as a JavaScript value, and as JSON text with every digit. */
export interface JsonBody {
  readonly value: unknown;
  /** Returns the JSON text of a part, with the digits that were sent; `path` has the form of zod's. */
  textOf(path: readonly PropertyKey[]): string | undefined;
  readonly bytes: Uint8Array;
}

/**
 * Reads a JSON body.
 * @throws Problem when the body is not JSON, is too large, nests too deeply, or contains a duplicate key.
 */
export async function readJsonBody(request: Request): Promise<JsonBody | undefined> {
  const bytes = await readBytes(request);
  if (bytes.length === 0) return undefined;
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new Problem('unsupported-media-type', 'send JSON with `Content-Type: application/json`');
  }
  if (!isUtf8(bytes)) throw new Problem('malformed-request', 'the body is not UTF-8 text');
  return parseBody(new TextDecoder('utf-8', { ignoreBOM: false }).decode(bytes), bytes);
}

async function readBytes(request: Request): Promise<Uint8Array> {
  const tooLarge = () =>
    new Problem(
      'payload-too-large',
      `the body has more than ${MOST_BODY_BYTES} bytes: send less, or split it into several requests`,
    );
  if (Number(request.headers.get('content-length') ?? 0) > MOST_BODY_BYTES) throw tooLarge();
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > MOST_BODY_BYTES) throw tooLarge();
  return bytes;
}

function parseBody(text: string, bytes: Uint8Array): JsonBody {
  const parsed = parseJson(text);
  if ('fault' in parsed) throw new Problem('malformed-request', `the body is not JSON: ${parsed.fault}`);
  const { value } = parsed;
  refuseDuplicateKeys(text);
  let exact: unknown;
  return {
    value,
    bytes,
    textOf: (path) => {
      exact ??= parseExactly(text);
      const part = path.reduce<unknown>(
        (whole, key) => (whole as Record<PropertyKey, unknown> | undefined)?.[key],
        exact,
      );
      return part === undefined ? undefined : JSON.stringify(part);
    },
  };
}

function parseJson(text: string): { value: unknown } | { fault: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: messageOf(error) };
  }
}

/** An open object or array; only an object has `keys`. */
interface Open {
  readonly keys: Set<string> | undefined;
  /** Whether the next string is a key. */
  isKeyNext: boolean;
  /** Key or index of the current part. */
  at: string | number;
}

/** Walks valid JSON and refuses duplicate keys, of which JSON.parse would keep only the last, silently. */
function refuseDuplicateKeys(text: string): void {
  const open: Open[] = [];
  for (let at = 0; at < text.length; at++) {
    const top = open.at(-1);
    const sign = text[at];
    if (sign === '{') open.push({ keys: new Set(), isKeyNext: true, at: '' });
    else if (sign === '[') open.push({ keys: undefined, isKeyNext: false, at: 0 });
    else if (sign === '}' || sign === ']') open.pop();
    else if (sign === ',' && top) step(top);
    else if (sign === '"') {
      const end = endOfString(text, at);
      if (top?.isKeyNext) addKey(open, top, JSON.parse(text.slice(at, end + 1)) as string);
      at = end;
    }
    if (open.length > DEEPEST_JSON) throw invalidBody('', `is nested more than ${DEEPEST_JSON} deep`);
  }
}

function step(top: Open): void {
  if (typeof top.at === 'number') top.at += 1;
  else top.isKeyNext = true;
}

function addKey(open: readonly Open[], top: Open, key: string): void {
  top.isKeyNext = false;
  top.at = key;
  if (top.keys?.has(key)) throw invalidBody(jsonPointer(open.map(({ at }) => at)), 'is a duplicate key: send it once');
  top.keys?.add(key);
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}
