import * as z from 'zod';
import type { Scope } from '../core/access/scopes.ts';
import type { Caller, GatewayFacts } from './caller.ts';
import type { ParsedRequest } from './parse-request.ts';
import { Problem } from './problem.ts';
import { isKeyOfPayload, scopeOfFilter } from './redact.ts';
import type { ApiDeps, Route } from './route.ts';

const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="millrace"' };

/**
 * Returns the caller of a request.
 * @throws Problem when no credential of the request is accepted.
 */
export async function authenticate(
  { authentication }: ApiDeps,
  request: Request,
  facts: GatewayFacts,
): Promise<Caller> {
  for (const identify of authentication) {
    const answer = await identify(request, facts);
    if (answer === undefined) continue;
    if ('refused' in answer) throw new Problem('unauthenticated', answer.refused, { headers: CHALLENGE });
    return answer;
  }
  const detail = 'send `Authorization: Bearer …` with an API key or token, or sign the request';
  throw new Problem('unauthenticated', detail, { headers: CHALLENGE });
}

/**
 * Checks that the caller may use the route.
 * @throws Problem when the caller has none of the scopes that the route requires.
 */
export function authorize({ scope }: Route, caller: Caller): void {
  if (scope === 'none' || scope.some((one) => caller.scopes.has(one))) return;
  throw forbidden(caller, scope.join(' or '), 'this operation');
}

/**
 * Checks that the caller may use the filters of the request: a filtered response reveals which rows have a value.
 * @throws Problem when the caller may not see a field by which it filters.
 */
export function authorizeFilters({ query, body }: Route, request: ParsedRequest, caller: Caller): void {
  const parts = [
    { schema: query, values: request.query },
    { schema: body, values: request.body },
  ];
  for (const { schema, values } of parts) {
    if (!(schema instanceof z.ZodObject)) continue;
    for (const [name, part] of Object.entries(schema.shape)) {
      const value = (values as Record<string, unknown> | undefined)?.[name];
      const required = value === undefined ? undefined : scopeOfFilter(part as z.ZodType);
      if (required === undefined) continue;
      const scopes: Scope[] = isKeyOfPayload(name, value) ? [required, 'payload:read'] : [required];
      const missing = scopes.find((scope) => !caller.scopes.has(scope));
      if (missing !== undefined) throw forbidden(caller, missing, `filter ${name}`);
    }
  }
}

/** Returns the problem for a caller that lacks the scope that `what` requires. */
export function forbidden({ scopes }: Caller, required: string, what: string): Problem {
  const detail = `${what} requires the scope ${required}: use a credential with this scope`;
  return new Problem('forbidden', detail, { extra: { required_scope: required, your_scopes: [...scopes] } });
}
