import { createHash } from 'node:crypto';
import { Problem } from './problem.ts';

/** Where a list goes on: after this id, for the same question. Rows before it may come and go. */
export function writeCursor(id: string, question: unknown): string {
  return Buffer.from(`${id}.${fingerprint(question)}`).toString('base64url');
}

/** @throws Problem when it was not made for this question. */
export function readCursor(cursor: string, question: unknown): string {
  const [, id, hash] = /^([1-9]\d{0,18})\.([0-9a-f]{12})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (id === undefined || BigInt(id) > LAST_ID || writeCursor(id, question) !== cursor) {
    const detail =
      hash === undefined || hash === fingerprint(question)
        ? 'take next_cursor of an answer as it is, or leave it out to begin anew'
        : 'it belongs to another filter: keep the filter, or leave the cursor out to begin anew';
    throw new Problem('bad-cursor', detail, { errors: [{ in: 'query', pointer: '/cursor', detail }] });
  }
  return id;
}

const LAST_ID = 2n ** 63n - 1n;

function fingerprint(question: unknown): string {
  return createHash('sha256').update(JSON.stringify(question)).digest('hex').slice(0, 12);
}
