import { ManagedPolicy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { FunctionSurroundings } from './deployed-function.ts';
import { keyStatements } from './stage-key.ts';
import { arnOfQueues } from './stage-queues.ts';

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

/** The policy for people on call, which allows a redrive from the AWS console and nothing else. */
export class OperatorPolicy extends Construct {
  readonly policy: ManagedPolicy;

  constructor(scope: Construct, id: string, { stage, key }: Pick<FunctionSurroundings, 'stage' | 'key'>) {
    super(scope, id);
    this.policy = new ManagedPolicy(this, 'Redrive1', {
      description: 'Redrive of dead letters from the SQS console',
    });
    this.policy.addStatements(
      new PolicyStatement({ actions: REDRIVE_ACTIONS, resources: [arnOfQueues(this.policy, stage, '-dlq')] }),
      new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [arnOfQueues(this.policy, stage)] }),
      ...keyStatements(this, key, 'send'),
    );
  }
}
