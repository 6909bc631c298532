import { readFileSync } from 'node:fs';
import type { Template } from 'aws-cdk-lib/assertions';
import { expect } from 'vitest';

const PAGE = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');

/** Returns the names of the AWS managed policies of the roles in this template. */
export function awsPolicies(template: Template): string[] {
  const roles = Object.values(template.findResources('AWS::IAM::Role'));
  const attached = JSON.stringify(roles.map(({ Properties }) => Properties.ManagedPolicyArns));
  return [...new Set(attached.match(/(?<=policy\/[^"]*)AWS\w+/g))].sort();
}

/** Expects the security page to name each of these policies, because they are wider than our own. */
export function expectNamedPolicies(template: Template): void {
  for (const name of awsPolicies(template)) expect(PAGE).toContain(`\`${name}\``);
}
