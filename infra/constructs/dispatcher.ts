import type { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import type { Construct } from 'constructs';
import type { DispatchMode } from '../../core/dispatch/dispatcher.ts';
import { functionName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import type { FunctionSurroundings } from './deployed-function.ts';
import type { DeployedHandler } from './deployed-handler.ts';
import { ScheduledFunction } from './scheduled-function.ts';

export interface DispatcherProps extends FunctionSurroundings {
  readonly mode: DispatchMode;
  readonly handlers: readonly DeployedHandler[];
  readonly scheduleGroup: CfnScheduleGroup;
}

/** Sends due jobs to the queues of their handlers. */
export class Dispatcher extends ScheduledFunction {
  constructor(scope: Construct, id: string, { mode, handlers, ...surroundings }: DispatcherProps) {
    super(scope, id, {
      ...surroundings,
      name: functionName(surroundings.stage, 'dispatcher'),
      bundle: { entry: 'functions/dispatcher.ts' },
      ...OWN_FUNCTIONS.dispatcher,
      login: surroundings.database.runtime,
      environment: { MILLRACE_DISPATCH_MODE: mode },
    });
    for (const { queue } of handlers) queue.grantSendMessages(this.function.lambda);
  }
}
