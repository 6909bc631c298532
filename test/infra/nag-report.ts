import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { expect } from 'vitest';
import { checkOwn } from '../../infra/own-checks.ts';
import type { Context } from '../../infra/settings/context.ts';
import { expectNamedPolicies } from './managed-policies.ts';
import { synthesise } from './synthesise.ts';

interface Report {
  readonly pluginReports: readonly { readonly violations: readonly { readonly ruleName: string }[] }[];
}

/**
 * Synthesises with cdk-nag and expects that no rule is broken, and the given number of resources of each type. Returns
 * the stack.
 */
export async function expectNoViolation(context: Context, counts: Readonly<Record<string, number>> = {}) {
  const { app, stack } = await synthesise(context);
  checkOwn(app, stack.millrace);

  app.synth();

  const report = JSON.parse(readFileSync(join(app.outdir, 'validation-report.json'), 'utf8')) as Report;
  const template = Template.fromStack(stack);
  const broken = report.pluginReports.flatMap(({ violations }) => violations.map(({ ruleName }) => ruleName));
  // The report also contains the warnings of Millrace.
  expect(broken.filter((rule) => !rule.startsWith('Annotation::millrace:'))).toEqual([]);
  for (const [type, count] of Object.entries(counts)) template.resourceCountIs(type, count);
  expectNamedPolicies(template);
  return stack;
}
