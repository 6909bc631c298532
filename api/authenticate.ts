import type { Caller, GatewayFacts } from './caller.ts';
import { Problem } from './problem.ts';
import type { ApiDeps, Route } from './route.ts';

const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="millrace"' };

/** @throws Problem when no credential of the request is accepted. */
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

/** @throws Problem when the caller has none of the scopes that the route requires. */
export function authorize({ scope }: Route, { scopes }: Caller): void {
  if (scope === 'none' || scope.some((one) => scopes.has(one))) return;
  const required = scope.join(' or ');
  const detail = `this operation requires the scope ${required}: use a credential that has it`;
  throw new Problem('forbidden', detail, { extra: { required_scope: required, your_scopes: [...scopes] } });
}
