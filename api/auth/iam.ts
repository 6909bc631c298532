import type { Scope } from '../../core/access/scopes.ts';
import type { Authenticate } from '../caller.ts';

/** Grants scopes to callers whose ARN matches the pattern; `*` matches any text. */
export interface IamRule {
  readonly pattern: string;
  readonly scopes: readonly Scope[];
}

/** Identifies the principal whose signature the gateway has verified; the rules grant its scopes. */
export function iamAuthentication(rules: readonly IamRule[]): Authenticate {
  const compiled = rules.map(({ pattern, scopes }) => ({ matches: toExpression(pattern), scopes }));
  return async (_request, { callerArn }) => {
    if (callerArn === undefined) return undefined;
    const scopes = compiled.filter(({ matches }) => matches.test(callerArn)).flatMap((rule) => rule.scopes);
    return { name: `iam:${callerArn}`, id: `iam:${callerArn}`, scopes: new Set(scopes) };
  };
}

function toExpression(pattern: string): RegExp {
  return new RegExp(`^${pattern.split('*').map(literal).join('.*')}$`, 's');
}

function literal(text: string): string {
  return text.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
}
