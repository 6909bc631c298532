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
}

export interface NewApiKey {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Seconds until it expires; undefined for a key that does not expire. */
  readonly expiresInSeconds?: number | undefined;
}

const CREATE_KEY = `
  with made as (
    insert into millrace.api_keys (name, secret_sha256, scopes, expires_at)
      values ($1, $2, $3::text[], millrace.clock() + make_interval(secs => $4::float8))
      returning *
  ), audited as (
    insert into millrace.audit_log (action, details)
      select 'create_key', jsonb_build_object('key', id::text, 'name', name, 'scopes', scopes) from made
  )
  select id, name, scopes, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt",
         last_used_at as "lastUsedAt"
    from made`;

/** Creates a key. Only this call returns its secret. */
export async function createApiKey(db: Queryable, wanted: NewApiKey): Promise<{ key: ApiKey; secret: string }> {
  const secret = randomBytes(32).toString('base64url');
  const values = [wanted.name, sha256(secret), wanted.scopes, wanted.expiresInSeconds ?? null];
  const { rows } = await db.query<ApiKey>(CREATE_KEY, values);
  const [key] = rows;
  if (key === undefined) throw new Error('the key was not created');
  return { key, secret: `millrace_${key.id}_${secret}` };
}

const LIST_KEYS = `
  select id, name, scopes, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt",
         last_used_at as "lastUsedAt"
    from millrace.api_keys where id < coalesce($1::bigint, 9223372036854775807) order by id desc offset $2 limit $3`;

/** Returns keys, including expired and revoked ones, the newest first. */
export async function listApiKeys(
  db: Queryable,
  { before, skip = 0, limit }: { before?: string | undefined; skip?: number; limit: number },
): Promise<ApiKey[]> {
  const { rows } = await db.query<ApiKey>(LIST_KEYS, [before ?? null, skip, limit]);
  return rows;
}

const REVOKE_KEY = `
  with revoked as (
    update millrace.api_keys set revoked_at = millrace.clock() where id = $1::bigint and revoked_at is null
      returning id, name
  ), audited as (
    insert into millrace.audit_log (action, details)
      select 'revoke_key', jsonb_build_object('key', id::text, 'name', name) from revoked
  )
  select id from millrace.api_keys where id = $1::bigint`;

/** Revokes a key immediately and permanently. Returns false if no key has this id. */
export async function revokeApiKey(db: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await db.query(REVOKE_KEY, [id]);
  return rowCount > 0;
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
