import type { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import type { Construct } from 'constructs';
import { functionName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import type { FunctionSurroundings } from './deployed-function.ts';
import type { DeployedHandler } from './deployed-handler.ts';
import { ScheduledFunction } from './scheduled-function.ts';

export interface MirrorProps extends FunctionSurroundings {
  readonly handlers: readonly DeployedHandler[];
  readonly scheduleGroup: CfnScheduleGroup;
}

/** Mirrors the dead-letter queues into the database. */
export class Mirror extends ScheduledFunction {
  constructor(scope: Construct, id: string, { handlers, ...surroundings }: MirrorProps) {
    super(scope, id, {
      ...surroundings,
      name: functionName(surroundings.stage, 'dlq-mirror'),
      bundle: { entry: 'functions/dlq-mirror' },
      ...OWN_FUNCTIONS['dlq-mirror'],
      login: surroundings.database.runtime,
      environment: {},
    });
    const { lambda } = this.function;
    for (const { queue, deadLetterQueue } of handlers) {
      // The mirror restores a missing dead letter through the source queue.
      queue.grantSendMessages(lambda);
      deadLetterQueue.grantConsumeMessages(lambda);
      deadLetterQueue.grant(lambda, 'sqs:ListMessageMoveTasks');
    }
  }
}
