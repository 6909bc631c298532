import type { Caller, GatewayFacts } from './caller.ts';
import { Problem } from './problem.ts';
import type { ApiDeps, Route } from './route.ts';

const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="millrace"' };

/** @throws Problem when nobody knows who it is. */
export async function authenticate(
  { authentication }: ApiDeps,
  request: Request,
  facts: GatewayFacts,
): Promise<Caller> {
  for (const ask of authentication) {
    const answer = await ask(request, facts);
    if (answer === undefined) continue;
    if ('refused' in answer) throw new Problem('unauthenticated', answer.refused, { headers: CHALLENGE });
    return answer;
  }
  const detail = 'send a credential that this API knows: `Authorization: Bearer …`, or a signed request';
  throw new Problem('unauthenticated', detail, { headers: CHALLENGE });
}

/** @throws Problem when the caller has none of the scopes that the route asks for. */
export function authorize({ scope }: Route, { scopes }: Caller): void {
  if (scope === 'none' || scope.some((one) => scopes.has(one))) return;
  throw new Problem('forbidden', `this needs the scope ${scope.join(' or ')}: ask for a credential that has it`, {
    extra: { required_scope: scope.join(' or '), your_scopes: [...scopes] },
  });
}
