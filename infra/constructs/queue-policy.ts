import { Stack } from 'aws-cdk-lib';
import { AnyPrincipal, Effect, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnQueuePolicy } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { DeployedHandler } from './deployed-handler.ts';

/** Makes the queues of all handlers of a stack refuse requests without TLS, with one resource. */
export class QueuePolicy extends Construct {
  constructor(scope: Construct, id: string, stage: string, handlers: readonly DeployedHandler[]) {
    super(scope, id);
    new CfnQueuePolicy(this, 'Policy', {
      queues: handlers.flatMap(({ queue, deadLetterQueue }) => [queue.queueUrl, deadLetterQueue.queueUrl]),
      policyDocument: new PolicyDocument({
        statements: [
          new PolicyStatement({
            effect: Effect.DENY,
            principals: [new AnyPrincipal()],
            actions: ['sqs:*'],
            resources: [Stack.of(this).formatArn({ service: 'sqs', resource: `millrace-${stage}-*` })],
            conditions: { Bool: { 'aws:SecureTransport': 'false' } },
          }),
        ],
      }),
    });
  }
}
