import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../postgres/database.ts';

/** A key for the API. Millrace stores only a hash of its secret. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** Time of its last use, to the minute. */
  readonly lastUsedAt: Date | null;
  /** Id of the key that created this key; null if its creator had no key. */
  readonly madeBy: string | null;
}

/** ASCII only, without spaces at either end: audit events contain the names, and terminals print them. */
export const KEY_NAME = /^[\w.:@-](?:[\w .:@-]{0,98}[\w.:@-])?$/;

export interface NewApiKey {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Seconds until it expires; undefined for a key that does not expire. */
  readonly expiresInSeconds?: number | undefined;
}

/** The caller that creates a key. */
export interface KeyMaker {
  /** Id of the caller's key. The new key does not outlive that key. */
  readonly madeBy?: string | undefined;
  /** Id of the invocation, if the caller was authorized by IAM to invoke the API's function. */
  readonly requestId?: string | undefined;
}

// `least` ignores nulls: a key without its own expiry expires with its maker.
const CREATE_KEY = `
  with made as (
    insert into millrace.api_keys (name, secret_sha256, scopes, expires_at, made_by)
      values ($1, $2, $3::text[],
              least(millrace.clock() + make_interval(secs => $4::float8),
                    (select m.expires_at from millrace.api_keys m where m.id = $5::bigint)),
              $5::bigint)
      returning *
  ), audited as (
    insert into millrace.audit_log (action, details)
      select 'create_key', jsonb_strip_nulls(jsonb_build_object('key', id::text, 'name', name, 'scopes', scopes,
                                             'made_by', made_by::text, 'request_id', $6::text))
        from made
  )
  select id, name, scopes, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt",
         last_used_at as "lastUsedAt", made_by as "madeBy"
    from made`;

/** Creates a key. Only this call returns its secret. */
export async function createApiKey(
  db: Queryable,
  wanted: NewApiKey,
  { madeBy, requestId }: KeyMaker = {},
): Promise<{ key: ApiKey; secret: string }> {
  const secret = randomBytes(32).toString('base64url');
  const { name, scopes, expiresInSeconds } = wanted;
  const values = [name, sha256(secret), scopes, expiresInSeconds ?? null, madeBy ?? null, requestId ?? null];
  const { rows } = await db.query<ApiKey>(CREATE_KEY, values);
  const [key] = rows;
  if (key === undefined) throw new Error('the key was not created');
  return { key, secret: `millrace_${key.id}_${secret}` };
}

const HOLD_KEY = `
  select from millrace.api_keys
    where id = $1::bigint and revoked_at is null and coalesce(expires_at > millrace.clock(), true)
    for share`;

/**
 * Prevents the revocation of a key until the transaction ends; returns false if the key is already revoked or expired.
 */
export async function holdApiKey(tx: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(HOLD_KEY, [id]);
  return rowCount > 0;
}

const LIST_KEYS = `
  select id, name, scopes, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt",
         last_used_at as "lastUsedAt", made_by as "madeBy"
    from millrace.api_keys where id < coalesce($1::bigint, 9223372036854775807) order by id desc offset $2 limit $3`;

/** Returns keys, including expired and revoked ones, the newest first. */
export async function listApiKeys(
  db: Queryable,
  { before, skip = 0, limit }: { before?: string | undefined; skip?: number; limit: number },
): Promise<ApiKey[]> {
  const { rows } = await db.query<ApiKey>(LIST_KEYS, [before ?? null, skip, limit]);
  return rows;
}

// `made` contains the key and, if requested, all keys that were created with it, directly or indirectly.
const REVOKE_KEYS = `
  with recursive made as (
    select id from millrace.api_keys where id = $1::bigint
    union
    select k.id from millrace.api_keys k join made m on k.made_by = m.id where $2
  ), revoked as (
    update millrace.api_keys k set revoked_at = millrace.clock()
      from made where k.id = made.id and k.revoked_at is null
      returning k.id, k.name
  ), audited as (
    insert into millrace.audit_log (action, details)
      select 'revoke_key', jsonb_build_object('key', id::text, 'name', name) from revoked
  )
  select (select count(*) from made)::integer as known, (select count(*) from revoked)::integer as revoked`;

/**
 * Revokes a key immediately and permanently. Returns false if no key has this id.
 * @param options.withMade also revokes the keys that were created with this key, directly or indirectly.
 */
export async function revokeApiKey(db: Queryable, id: string, { withMade = false } = {}): Promise<boolean> {
  // A statement does not see a key that another transaction was creating when it began; the next statement does.
  for (let isKnown = false; ; isKnown = true) {
    const { rows } = await db.query<{ known: number; revoked: number }>(REVOKE_KEYS, [id, withMade]);
    const { known = 0, revoked = 0 } = rows[0] ?? {};
    if (revoked === 0 || !withMade) return isKnown || known > 0;
  }
}

const FIND_KEY = `
  select name, scopes, secret_sha256 as "hash",
         revoked_at is null and coalesce(expires_at > millrace.clock(), true) as valid,
         coalesce(last_used_at < millrace.clock() - interval '1 minute', true) as stale
    from millrace.api_keys where id = $1::bigint`;
const STORE_USE = `
  update millrace.api_keys set last_used_at = millrace.clock()
    where id = $1::bigint and coalesce(last_used_at < millrace.clock() - interval '1 minute', true)`;

const SECRET = /^millrace_([1-9]\d{0,17})_([\w-]{43})$/;

/** Returns the key of a secret; undefined if the key is unknown, expired or revoked. */
export async function checkApiKey(
  db: Queryable,
  secret: string,
): Promise<Pick<ApiKey, 'id' | 'name' | 'scopes'> | undefined> {
  const [, id, random] = SECRET.exec(secret) ?? [];
  if (id === undefined || random === undefined) return undefined;
  const { rows } = await db.query<ApiKey & { hash: string; valid: boolean; stale: boolean }>(FIND_KEY, [id]);
  const [key] = rows;
  if (key === undefined || !timingSafeEqual(Buffer.from(key.hash), Buffer.from(sha256(random))) || !key.valid) {
    return undefined;
  }
  if (key.stale) await db.query(STORE_USE, [id]);
  return { id, name: key.name, scopes: key.scopes };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
