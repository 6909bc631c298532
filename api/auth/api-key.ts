import { checkApiKey } from '../../core/access/api-keys.ts';
import { expandScopes } from '../../core/access/scopes.ts';
import type { Queryable } from '../../core/postgres/database.ts';
import type { Authenticate } from '../caller.ts';

/** Authenticates `Authorization: Bearer millrace_<id>_<secret>`. */
export function apiKeyAuthentication(db: Queryable): Authenticate {
  return async (request) => {
    const token = bearerToken(request);
    if (!token?.startsWith('millrace_')) return undefined;
    const key = await checkApiKey(db, token);
    if (key === undefined) return { refused: 'the API key is unknown, expired or revoked' };
    const { id, name, scopes } = key;
    return { name: `key:${id} ${name}`, id: `key:${id}`, keyId: id, scopes: new Set(expandScopes(scopes)) };
  };
}

/** Returns the token of the header `Authorization: Bearer <token>`. */
export function bearerToken(request: Request): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
}
