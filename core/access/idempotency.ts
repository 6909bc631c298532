import type { Queryable } from '../postgres/database.ts';

export interface IdempotentRequest {
  readonly caller: string;
  readonly key: string;
  /** Of the method, the path and the body. */
  readonly sha256: string;
}

/** What was answered to the first request of this key. */
export interface KeptAnswer {
  readonly status: number;
  readonly location: string | null;
  readonly body: string;
}

/** `first`: nobody asked before. `reused`: the key stands for another request. */
export type Claimed = { kind: 'first' } | { kind: 'reused' } | { kind: 'replayed'; answer: KeptAnswer };

// Waits for the transaction of a twin that is at work: then its answer is there, or the key is free again.
const CLAIM_KEY = `
  insert into millrace.idempotency_keys as k (caller, key, request_sha256, response) values ($1, $2, $3, 'null')
    on conflict (caller, key) do update
      set request_sha256 = excluded.request_sha256, response = excluded.response, created_at = millrace.clock()
      where k.created_at < millrace.clock() - interval '24 hours'
    returning key`;
const READ_ANSWER = `
  select request_sha256 as "sha256", response as answer from millrace.idempotency_keys where caller = $1 and key = $2`;

/** Takes a key within the transaction that will do the work, or tells what was done under it in the last 24 hours. */
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

/** Keeps the answer, in the same transaction. */
export async function keepAnswer(tx: Queryable, request: IdempotentRequest, answer: KeptAnswer): Promise<void> {
  await tx.query(KEEP_ANSWER, [request.caller, request.key, JSON.stringify(answer)]);
}
