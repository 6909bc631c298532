import { Stack, Token } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';
import { acknowledge } from './acknowledge.ts';

const REASON =
  'The prefix belongs to the queues of this stage alone. A policy that names each would exceed the limit of a role.';

/**
 * Returns the ARN of all queues of a stage, or of all its dead-letter queues. A stage contains no dash, so that the
 * prefix matches the queues of no other stage.
 * @param holder the role or policy that contains the ARN, for which the wildcard is acknowledged
 */
export function arnOfQueues(holder: IConstruct, stage: string, suffix: '' | '-dlq' = ''): string {
  const stack = Stack.of(holder);
  const resource = `millrace-${stage}-*${suffix}`;
  const named = (value: string, pseudo: string) => (Token.isUnresolved(value) ? `<AWS::${pseudo}>` : value);
  const place = [named(stack.partition, 'Partition'), 'sqs', named(stack.region, 'Region')];
  const arn = ['arn', ...place, named(stack.account, 'AccountId'), resource].join(':');
  acknowledge(holder, `IAM5[Resource::${arn}]`, REASON);
  return stack.formatArn({ service: 'sqs', resource });
}
