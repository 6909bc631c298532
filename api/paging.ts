import { createHash } from 'node:crypto';
import { isId } from '../core/job.ts';
import { snakeCase } from '../core/json.ts';
import { Problem } from './problem.ts';

/** The last row that a page number reaches; a cursor has no such limit. */
export const MOST_SKIPPED = 10_000;

interface Wish {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly page?: number | undefined;
}

/**
 * Returns where a page begins.
 * @param question the filter of the list; a cursor is valid for the same filter only.
 */
export function startOf({ limit, cursor, page }: Wish, question: unknown) {
  const skip = ((page ?? 1) - 1) * limit;
  if (cursor !== undefined && page !== undefined) throw badPage('send cursor or page, not both');
  if (skip + limit > MOST_SKIPPED) {
    throw badPage(`page reaches row ${MOST_SKIPPED} at most: follow next_cursor instead, or use a narrower filter`);
  }
  const before = cursor === undefined ? undefined : readCursor(cursor, question);
  return { before, skip, limit };
}

function badPage(detail: string): Problem {
  return new Problem('malformed-request', detail, { errors: [{ in: 'query', pointer: '/page', detail }] });
}

/** Returns the document of a page. */
export function pageDocument(items: readonly unknown[], next: string | undefined, question: unknown) {
  const next_cursor = next === undefined ? null : writeCursor(next, question);
  return { items, next_cursor, has_more: next !== undefined };
}

interface Rows<Row> {
  readonly limit: number;
  readonly question: unknown;
  /** Returns where the page after a row begins. */
  readonly keyOf: (row: Row) => string;
}

/** Returns the document of a page of rows that were read to one beyond `limit`. */
export function rowsDocument<Row extends object>(found: readonly Row[], { limit, question, keyOf }: Rows<Row>) {
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  const next = found.length > limit && last !== undefined ? keyOf(last) : undefined;
  return pageDocument(shown.map(snakeCase), next, question);
}

/**
 * Returns a cursor that continues a list after this id, for the same filter, even if rows before it are added or
 * removed.
 */
export function writeCursor(id: string, question: unknown): string {
  return Buffer.from(`${id}.${fingerprint(question)}`).toString('base64url');
}

/**
 * Returns the id in a cursor, or what else `isKey` accepts.
 * @throws Problem when the cursor was not made for this filter.
 */
export function readCursor(cursor: string, question: unknown, isKey: (text: string) => boolean = isId): string {
  const [, id, hash] = /^(.+)\.([0-9a-f]{12})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (id === undefined || !isKey(id) || writeCursor(id, question) !== cursor) {
    const detail =
      hash === undefined || hash === fingerprint(question)
        ? 'send next_cursor of a response unchanged, or omit it to start from the first page'
        : 'the cursor belongs to a different filter: keep the filter, or omit the cursor to start from the first page';
    throw new Problem('bad-cursor', detail, { errors: [{ in: 'query', pointer: '/cursor', detail }] });
  }
  return id;
}

function fingerprint(question: unknown): string {
  return createHash('sha256').update(JSON.stringify(question)).digest('hex').slice(0, 12);
}
