import { ArnFormat, Stack } from 'aws-cdk-lib';
import { CfnPermission } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, SubscriptionFilter } from 'aws-cdk-lib/aws-logs';
import { LambdaDestination } from 'aws-cdk-lib/aws-logs-destinations';
import type { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import type { Construct } from 'constructs';
import type { DispatchMode } from '../../core/dispatch/dispatcher.ts';
import { functionName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import { END_WORDS } from '../../core/run/process-end.ts';
import type { FunctionSurroundings } from './deployed-function.ts';
import type { DeployedHandler } from './deployed-handler.ts';
import { ScheduledFunction } from './scheduled-function.ts';

export interface DispatcherProps extends FunctionSurroundings {
  readonly mode: DispatchMode;
  /** Pause between two rounds, in seconds, and how many jobs a claim takes; undefined for the defaults. */
  readonly pollInterval: number | undefined;
  readonly claimLimit: number | undefined;
  readonly handlers: readonly DeployedHandler[];
  readonly scheduleGroup: CfnScheduleGroup;
  readonly reservedConcurrency: number | undefined;
}

/** Sends due jobs to the queues of their handlers. */
export class Dispatcher extends ScheduledFunction {
  constructor(
    scope: Construct,
    id: string,
    { mode, pollInterval, claimLimit, handlers, ...surroundings }: DispatcherProps,
  ) {
    super(scope, id, {
      ...surroundings,
      name: functionName(surroundings.stage, 'dispatcher'),
      bundle: { entry: 'functions/dispatcher' },
      ...OWN_FUNCTIONS.dispatcher,
      login: surroundings.database.runtime,
      environment: {
        MILLRACE_DISPATCH_MODE: mode,
        ...(pollInterval !== undefined && { MILLRACE_POLL_INTERVAL: `${pollInterval}s` }),
        ...(claimLimit !== undefined && { MILLRACE_CLAIM_LIMIT: `${claimLimit}` }),
      },
    });
    for (const { queue } of handlers) queue.grantSendMessages(this.function.lambda);
    this.receiveEnds(surroundings.stage, handlers);
  }

  /** Subscribes to the log lines that report the end of a handler's process (docs/decisions/0053). */
  private receiveEnds(stage: string, handlers: readonly DeployedHandler[]): void {
    // One permission for all log groups of the stage: a function's policy has room for about fifty.
    const permission = new CfnPermission(this, 'LogsPermission', {
      action: 'lambda:InvokeFunction',
      functionName: this.function.lambda.functionArn,
      principal: 'logs.amazonaws.com',
      sourceAccount: Stack.of(this).account,
      sourceArn: Stack.of(this).formatArn({
        ...{ service: 'logs', resource: 'log-group', resourceName: `/aws/lambda/millrace-${stage}-*` },
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      }),
    });
    for (const { plan, function: deployed } of handlers) {
      const filter = new SubscriptionFilter(this, `Ends-${plan.name}`, {
        logGroup: deployed.logGroup,
        destination: new LambdaDestination(this.function.lambda, { addPermissions: false }),
        filterPattern: FilterPattern.anyTerm(...END_WORDS),
      });
      filter.node.addDependency(permission);
    }
  }
}
