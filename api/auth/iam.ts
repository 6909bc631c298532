import type { Scope } from '../../core/access/scopes.ts';
import type { Authenticate } from '../caller.ts';

/** Callers whose ARN fits the pattern, in which `*` stands for any text, have these scopes. */
export interface IamRule {
  readonly pattern: string;
  readonly scopes: readonly Scope[];
}

/** The gateway has verified the signature and names the principal; the rules say what it may do. */
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
