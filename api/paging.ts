import { readCursor, writeCursor } from './cursor.ts';
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
