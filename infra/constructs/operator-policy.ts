import { ManagedPolicy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { chunks } from '../../core/aws/batches.ts';
import type { DeployedHandler } from './deployed-handler.ts';

/** What "Start DLQ redrive" in the SQS console requires on the dead-letter queue. */
const REDRIVE_ACTIONS = [
  'sqs:StartMessageMoveTask',
  'sqs:CancelMessageMoveTask',
  'sqs:ListMessageMoveTasks',
  'sqs:ListDeadLetterSourceQueues',
  'sqs:ReceiveMessage',
  'sqs:DeleteMessage',
  'sqs:GetQueueAttributes',
];
/** A policy has at most 6,144 characters, and the two ARNs of a handler up to 220. */
const HANDLERS_A_POLICY = 20;

/** Policies for people on call, which allow a redrive from the AWS console and nothing else. */
export class OperatorPolicy extends Construct {
  readonly policies: readonly ManagedPolicy[];

  constructor(scope: Construct, id: string, handlers: readonly DeployedHandler[]) {
    super(scope, id);
    this.policies = chunks(handlers, HANDLERS_A_POLICY).map((chunk, index) => {
      return new ManagedPolicy(this, `Redrive${index + 1}`, {
        description: 'Redrive of dead letters from the SQS console',
        statements: [
          new PolicyStatement({
            actions: REDRIVE_ACTIONS,
            resources: chunk.map(({ deadLetterQueue }) => deadLetterQueue.queueArn),
          }),
          new PolicyStatement({ actions: ['sqs:SendMessage'], resources: chunk.map(({ queue }) => queue.queueArn) }),
        ],
      });
    });
  }
}
