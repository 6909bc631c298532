import type { Queryable } from '../postgres/database.ts';

export interface IdempotentRequest {
  readonly caller: string;
  readonly key: string;
  /** Hash of the method, the path and the body. */
  readonly sha256: string;
}

/** The stored response to the first request with this key. */
export interface KeptAnswer {
  readonly status: number;
  readonly location: string | null;
  readonly body: string;
}

export type Claimed =
  /** No earlier request had this key. */
  | { kind: 'first' }
  /** A different request had this key. */
  | { kind: 'reused' }
  /** The same request had this key, and this was its response. */
  | { kind: 'replayed'; answer: KeptAnswer };

// Waits for a concurrent request with the same key: then its response is stored, or the key is free again.
const CLAIM_KEY = `
  insert into millrace.idempotency_keys as k (caller, key, request_sha256, response) values ($1, $2, $3, 'null')
    on conflict (caller, key) do update
      set request_sha256 = excluded.request_sha256, response = excluded.response, created_at = millrace.clock()
      where k.created_at < millrace.clock() - interval '24 hours'
    returning key`;
const READ_ANSWER = `
  select request_sha256 as "sha256", response as answer from millrace.idempotency_keys where caller = $1 and key = $2`;

/** Claims a key in the transaction that will do the work, or returns the response stored in the last 24 hours. */
export async function claimIdempotencyKey(tx: Queryable, { caller, key, sha256 }: IdempotentRequest): Promise<Claimed> {
  const { rowCount } = await tx.query(CLAIM_KEY, [caller, key, sha256]);
  if (rowCount > 0) return { kind: 'first' };
  const { rows } = await tx.query<{ sha256: string; answer: KeptAnswer }>(READ_ANSWER, [caller, key]);
  const [kept] = rows;
  if (kept === undefined || kept.sha256 !== sha256) return { kind: 'reused' };
  return { kind: 'replayed', answer: kept.answer };
}

const KEEP_ANSWER = `
  update millrace.idempotency_keys set response = $3::jsonb where caller = $1 and key = $2`;

/** Stores the response, in the same transaction. */
export async function keepAnswer(tx: Queryable, request: IdempotentRequest, answer: KeptAnswer): Promise<void> {
  await tx.query(KEEP_ANSWER, [request.caller, request.key, JSON.stringify(answer)]);
}
