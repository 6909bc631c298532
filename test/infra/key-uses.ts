import { expect } from 'vitest';
import { type Deployed, type Policy, policiesOf, type Resource } from './deployed.ts';

export const KEY = 'arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef';

export interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: { readonly StringEquals?: Readonly<Record<string, unknown>> };
}

/** Returns the statements of each role and policy by its logical id. */
export function statementsById({ resources }: Deployed): [string, Statement[]][] {
  const holders = Object.entries(resources).filter(([, { Type }]) => /^AWS::IAM::(Role|ManagedPolicy)$/.test(Type));
  return holders.map(([id, { Properties }]) => [id, documentsOf(Properties).flatMap((policy) => statementsOf(policy))]);
}

function documentsOf(properties: Resource['Properties']): Policy[] {
  const { PolicyDocument: own } = properties as { PolicyDocument?: Policy };
  return [...policiesOf(properties), ...(own ? [own] : [])];
}

function statementsOf({ Statement: statements }: Policy): Statement[] {
  return statements as unknown as Statement[];
}

function allows(statements: readonly Statement[], action: string): boolean {
  return statements.some(({ Action }) => [Action].flat().includes(action));
}

/**
 * Returns how a role may use the key, as `sqs kms:Decrypt`. Only the statement that CDK itself adds, for a function
 * that SQS invokes, has no condition.
 */
export function usesOf(statements: readonly Statement[]): string[] {
  const uses = statements.flatMap(({ Action, Resource: resource, Condition }) => {
    const actions = [Action].flat().filter((action) => action.startsWith('kms:'));
    if (actions.length > 0) expect(resource).toBe(KEY);
    const via = JSON.stringify(Condition?.StringEquals?.['kms:ViaService'] ?? 'sqs');
    const services = ['secretsmanager', 'sqs'].filter((service) => via.includes(service));
    return actions.flatMap((action) => services.map((service) => `${service} ${action}`));
  });
  return [...new Set(uses)].toSorted();
}

/** Returns what the other permissions of a role require. */
export function needsOf(statements: readonly Statement[]): string[] {
  const needs = [
    ...(allows(statements, 'secretsmanager:GetSecretValue') ? ['secretsmanager kms:Decrypt'] : []),
    ...(allows(statements, 'sqs:ReceiveMessage') ? ['sqs kms:Decrypt'] : []),
    ...(allows(statements, 'sqs:SendMessage') ? ['sqs kms:Decrypt', 'sqs kms:GenerateDataKey'] : []),
  ];
  return [...new Set(needs)].toSorted();
}
