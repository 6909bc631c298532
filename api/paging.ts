import { createHash } from 'node:crypto';
import { LARGEST_ID } from '../core/job.ts';
import { Problem } from './problem.ts';

/** Rows that a page number may lead past; a cursor leads anywhere. */
const MOST_SKIPPED = 10_000;

interface Wish {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly page?: number | undefined;
}

/**
 * Where a page begins.
 * @param question what the list is of: a cursor serves for the same question alone.
 */
export function startOf({ limit, cursor, page }: Wish, question: unknown) {
  const skip = ((page ?? 1) - 1) * limit;
  if (cursor !== undefined && page !== undefined) throw badPage('give a cursor or a page, not both');
  if (skip + limit > MOST_SKIPPED) {
    throw badPage(`a page ends at row ${MOST_SKIPPED} at most: follow next_cursor instead, or filter more`);
  }
  const before = cursor === undefined ? undefined : readCursor(cursor, question);
  return { before, skip, limit };
}

function badPage(detail: string): Problem {
  return new Problem('malformed-request', detail, { errors: [{ in: 'query', pointer: '/page', detail }] });
}

/** The document of a page. */
export function pageDocument(items: readonly unknown[], next: string | undefined, question: unknown) {
  const next_cursor = next === undefined ? null : writeCursor(next, question);
  return { items, next_cursor, has_more: next !== undefined };
}

/** Where a list goes on: after this id, for the same question. Rows before it may come and go. */
export function writeCursor(id: string, question: unknown): string {
  return Buffer.from(`${id}.${fingerprint(question)}`).toString('base64url');
}

/** @throws Problem when it was not made for this question. */
export function readCursor(cursor: string, question: unknown): string {
  const [, id, hash] = /^([1-9]\d{0,18})\.([0-9a-f]{12})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (id === undefined || BigInt(id) > LARGEST_ID || writeCursor(id, question) !== cursor) {
    const detail =
      hash === undefined || hash === fingerprint(question)
        ? 'take next_cursor of an answer as it is, or leave it out to begin anew'
        : 'it belongs to another filter: keep the filter, or leave the cursor out to begin anew';
    throw new Problem('bad-cursor', detail, { errors: [{ in: 'query', pointer: '/cursor', detail }] });
  }
  return id;
}

function fingerprint(question: unknown): string {
  return createHash('sha256').update(JSON.stringify(question)).digest('hex').slice(0, 12);
}
