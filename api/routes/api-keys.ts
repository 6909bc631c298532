import * as z from 'zod';
import {
  createApiKey,
  holdApiKey,
  KEY_NAME,
  type KeyMaker,
  listApiKeys,
  revokeApiKey,
} from '../../core/access/api-keys.ts';
import { type ApiRole, expandScopes, ROLES, SCOPES } from '../../core/access/scopes.ts';
import { seconds } from '../../core/duration.ts';
import { snakeCase } from '../../core/json.ts';
import type { Queryable } from '../../core/postgres/database.ts';
import { rowsDocument, startOf } from '../paging.ts';
import { invalidBody, Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';
import { ApiKey, IdParams, NewApiKey, PageQuery, pageOf } from '../schemas.ts';

const TAG = 'API keys';
const GRANTS = [...SCOPES, ...(Object.keys(ROLES) as ApiRole[])] as const;
const KeyBody = z
  .strictObject({
    name: z
      .string()
      .regex(KEY_NAME, 'expected 1 to 100 letters, digits, spaces and _ . : @ -, without a space at either end')
      .meta({ example: 'billing' }),
    scopes: z
      .array(z.enum(GRANTS))
      .min(1)
      .max(GRANTS.length)
      .meta({ description: 'Scopes, or roles, which are sets of scopes.' }),
    expires_in: z
      .string()
      .regex(/^([1-9]\d{0,4}[hd]|[1-9]\d{0,9}s)$/, 'expected days, hours or seconds, such as 90d')
      .optional()
      .meta({
        description:
          'Lifetime of the key, at most the remaining lifetime of the key that creates it, which is also the default.',
      }),
  })
  .meta({ id: 'NewApiKey' });

export const createKey = defineRoute({
  method: 'post',
  path: '/admin/api-keys',
  operation: 'createApiKey',
  tag: TAG,
  summary: 'Create an API key',
  scope: ['keys:admin'],
  body: KeyBody,
  answers: {
    201: { description: 'The key, with its secret.', schema: NewApiKey },
    409: { description: 'The API authenticates no caller by a key.' },
  },
  run: async ({ body, db, caller, deps }) => {
    if (deps.keyRefusal !== undefined) throw new Problem('invalid-state', deps.keyRefusal);
    const scopes = expandScopes(body.scopes) ?? [];
    const beyond = scopes.filter((scope) => !caller.scopes.has(scope));
    if (beyond.length > 0)
      throw invalidBody('/scopes', `your credential lacks ${beyond.join(', ')}: it can grant only scopes that it has`);
    if (caller.keyId !== undefined && !(await holdApiKey(db, caller.keyId))) {
      throw new Problem('unauthenticated', 'the API key has been revoked or has expired');
    }
    return { status: 201, body: await insertKey(db, body, { madeBy: caller.keyId }) };
  },
});

async function insertKey(db: Queryable, body: z.infer<typeof KeyBody>, maker: KeyMaker) {
  const { name, scopes, expires_in: expiresIn } = body;
  const expiresInSeconds = expiresIn === undefined ? undefined : seconds(expiresIn, 'expires_in');
  const made = await createApiKey(db, { name, scopes: expandScopes(scopes) ?? [], expiresInSeconds }, maker);
  return { ...snakeCase(made.key), secret: made.secret };
}

/**
 * Creates a key for a caller that invokes the Lambda function directly, past the gateway. IAM authorizes the caller, so
 * the first key requires no other key.
 * @param wanted a body as for `POST /admin/api-keys`.
 * @param requestId id of the invocation, for the audit log; a CloudTrail data event contains it with the caller.
 * @throws Error that names the invalid part of the body.
 */
export async function makeFirstKey(
  db: Queryable,
  wanted: unknown,
  requestId: string,
): Promise<Record<string, unknown>> {
  const { data, error } = KeyBody.safeParse(wanted);
  if (data === undefined) throw new Error(`create_key: ${z.prettifyError(error)}`);
  return insertKey(db, data, { requestId });
}

export const listKeys = defineRoute({
  method: 'get',
  path: '/admin/api-keys',
  operation: 'listApiKeys',
  tag: TAG,
  summary: 'List API keys, newest first',
  scope: ['keys:admin'],
  query: PageQuery,
  answers: { 200: { description: 'A page of API keys.', schema: pageOf(ApiKey) } },
  run: async ({ query: { limit, cursor, page }, db }) => {
    const { before, skip } = startOf({ limit, cursor, page }, 'api-keys');
    const keys = await listApiKeys(db, { before, skip, limit: limit + 1 });
    return { status: 200, body: rowsDocument(keys, { limit, question: 'api-keys', keyOf: ({ id }) => id }) };
  },
});

export const revokeKey = defineRoute({
  method: 'delete',
  path: '/admin/api-keys/{id}',
  operation: 'revokeApiKey',
  tag: TAG,
  summary: 'Revoke an API key permanently, with immediate effect',
  scope: ['keys:admin'],
  params: IdParams,
  query: z.strictObject({
    with_made: z
      .boolean('expected true or false')
      .default(false)
      .meta({ description: 'Also revokes the keys that were created with this key, directly or indirectly.' }),
  }),
  answers: { 204: { description: 'The key is revoked.' }, 404: { description: 'The key is unknown.' } },
  run: async ({ params, query, db }) => {
    if (!(await revokeApiKey(db, params.id, { withMade: query.with_made })))
      throw new Problem('not-found', 'no API key has this id');
    return { status: 204 };
  },
});
