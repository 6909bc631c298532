import { isUtf8 } from 'node:buffer';
import { messageOf } from '../core/failure.ts';
import { DEEPEST_JSON, jsonDepth, jsonPointer } from '../core/json.ts';
import { walkMembers } from '../core/json-text.ts';
import { invalidBody, Problem } from './problem.ts';

/** The largest body, in bytes: a payload of 1 MiB, with room for its escapes and the other members. */
const MOST_BODY_BYTES = 2_097_152;
/** The objects and arrays around a payload: the body, and for several jobs their array and the job. */
const AROUND_PAYLOAD = 3;
/** The longest array outside a payload. A schema would report an error for each invalid element. */
export const MOST_ELEMENTS = 1000;

/** A parsed body: as a JavaScript value, and as JSON text with every digit. */
export interface JsonBody {
  readonly value: unknown;
  /** Returns the JSON text of the payload of the body, or of the job at this path; undefined without one. */
  payloadOf(path: readonly PropertyKey[]): string | undefined;
  readonly bytes: Uint8Array;
}

/**
 * Reads a JSON body.
 * @throws Problem when the body is not JSON, is too large, nests too deeply, has an array of more than a thousand
 *   elements outside a payload, or contains a duplicate key.
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
  const most = DEEPEST_JSON + AROUND_PAYLOAD;
  if (jsonDepth(text) > most) throw invalidBody('', `is nested more than ${most} deep`);
  checkArrays(value, []);
  const payloads = new Map<string, string>();
  walkMembers(text, (member) => {
    // JSON.parse keeps the last of several, silently.
    if (member.isDuplicate) throw invalidBody(jsonPointer(member.path()), 'is a duplicate key: send it once');
    if (member.key === 'payload' && member.depth <= AROUND_PAYLOAD) {
      payloads.set(jsonPointer(member.path()), member.text());
    }
  });
  return { value, bytes, payloadOf: (path) => payloads.get(jsonPointer([...path, 'payload'])) };
}

/** Payloads have their own limits. */
function checkArrays(value: unknown, path: string[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (path.at(-1) === 'payload' && path.length <= AROUND_PAYLOAD) return;
  if (Array.isArray(value) && value.length > MOST_ELEMENTS) {
    throw invalidBody(jsonPointer(path), `has ${value.length} elements, more than the limit of ${MOST_ELEMENTS}`);
  }
  for (const [key, part] of Object.entries(value)) {
    path.push(key);
    checkArrays(part, path);
    path.pop();
  }
}

function parseJson(text: string): { value: unknown } | { fault: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: messageOf(error) };
  }
}
