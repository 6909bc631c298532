import { isUtf8 } from 'node:buffer';
import { messageOf } from '../core/failure.ts';
import { invalidBody, Problem } from './problem.ts';

/** A body has at most so many bytes. */
const MOST_BODY_BYTES = 1_048_576;
const DEEPEST = 500;

/** A body that was read: once as JavaScript has it, once with every digit. */
export interface JsonBody {
  readonly value: unknown;
  /** JSON text of a part, with the digits that were sent; `path` as zod gives it. */
  textOf(path: readonly PropertyKey[]): string | undefined;
  readonly bytes: Uint8Array;
}

/**
 * Reads a JSON body.
 * @throws Problem that says what is wrong when it is none, is too large, or nests too deep, or a key stands twice.
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
    new Problem('payload-too-large', `at most ${MOST_BODY_BYTES} bytes are taken: send less, or in several requests`);
  if (Number(request.headers.get('content-length') ?? 0) > MOST_BODY_BYTES) throw tooLarge();
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > MOST_BODY_BYTES) throw tooLarge();
  return bytes;
}

function parseBody(text: string, bytes: Uint8Array): JsonBody {
  const parsed = parseJson(text);
  if ('fault' in parsed) throw new Problem('malformed-request', `the body is not JSON: ${parsed.fault}`);
  const { value } = parsed;
  refuseDoubles(text);
  let exact: unknown;
  return {
    value,
    bytes,
    textOf: (path) => {
      exact ??= JSON.parse(text, keepDigits);
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

/** Node has it, and the compiler's list of what JSON has does not. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === 'number' && context?.source !== undefined ? rawJSON(context.source) : value;
}

/** An object or array that is open; `keys` of an object only. */
interface Open {
  readonly keys: Set<string> | undefined;
  /** Whether the next string is a key. */
  isKeyNext: boolean;
  /** Key or index of the part that is being read. */
  at: string | number;
}

/** Walks over valid JSON: of two equal keys JavaScript takes the last in silence, and nobody knows which was meant. */
function refuseDoubles(text: string): void {
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
    if (open.length > DEEPEST) throw invalidBody('', `is nested more than ${DEEPEST} deep`);
  }
}

function step(top: Open): void {
  if (typeof top.at === 'number') top.at += 1;
  else top.isKeyNext = true;
}

function addKey(open: readonly Open[], top: Open, key: string): void {
  top.isKeyNext = false;
  top.at = key;
  if (top.keys?.has(key)) throw invalidBody(pointer(open.map(({ at }) => at)), 'stands twice: send it once');
  top.keys?.add(key);
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** JSON pointer of a path. */
export function pointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
