import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import type { Construct } from 'constructs';
import { functionName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import type { FunctionSurroundings } from './deployed-function.ts';
import { ScheduledFunction } from './scheduled-function.ts';
import { allowKey } from './stage-key.ts';
import { arnOfQueues } from './stage-queues.ts';

/** Without `sqs:DeleteMessage` of other queues than dead-letter queues. */
const MIRROR_ACTIONS = [
  ...['sqs:ReceiveMessage', 'sqs:ChangeMessageVisibility', 'sqs:DeleteMessage'],
  ...['sqs:GetQueueUrl', 'sqs:GetQueueAttributes', 'sqs:ListMessageMoveTasks'],
];

export interface MirrorProps extends FunctionSurroundings {
  readonly scheduleGroup: CfnScheduleGroup;
}

/** Mirrors the dead-letter queues into the database. */
export class Mirror extends ScheduledFunction {
  constructor(scope: Construct, id: string, surroundings: MirrorProps) {
    super(scope, id, {
      ...surroundings,
      name: functionName(surroundings.stage, 'dlq-mirror'),
      bundle: { entry: 'functions/dlq-mirror' },
      ...OWN_FUNCTIONS['dlq-mirror'],
      login: surroundings.database.runtime,
      environment: {},
    });
    const { grantPrincipal: role } = this.function;
    role.addToPrincipalPolicy(
      // The mirror restores a missing dead letter through the source queue.
      new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [arnOfQueues(role, surroundings.stage)] }),
    );
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: MIRROR_ACTIONS, resources: [arnOfQueues(role, surroundings.stage, '-dlq')] }),
    );
    // Which includes what receiving requires.
    allowKey(role, surroundings.key, 'send');
  }
}
