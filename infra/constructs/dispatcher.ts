import { ArnFormat, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnPermission } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, SubscriptionFilter } from 'aws-cdk-lib/aws-logs';
import { LambdaDestination } from 'aws-cdk-lib/aws-logs-destinations';
import type { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import type { Construct } from 'constructs';
import type { DispatchMode } from '../../core/dispatch/dispatcher.ts';
import { functionName, logGroupName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import { END_WORDS } from '../../core/run/process-end.ts';
import type { FunctionSurroundings } from './deployed-function.ts';
import type { DeployedHandler } from './deployed-handler.ts';
import { ScheduledFunction } from './scheduled-function.ts';
import { allowKey } from './stage-key.ts';
import { arnOfQueues } from './stage-queues.ts';

export interface DispatcherProps extends FunctionSurroundings {
  readonly mode: DispatchMode;
  /** Pause between two rounds, in seconds, and how many jobs a claim takes; undefined for the defaults. */
  readonly pollInterval: number | undefined;
  readonly claimLimit: number | undefined;
  readonly scheduleGroup: CfnScheduleGroup;
  readonly reservedConcurrency: number | undefined;
}

/** Sends due jobs to the queues of their handlers. */
export class Dispatcher extends ScheduledFunction {
  private readonly logsPermission: CfnPermission;

  constructor(scope: Construct, id: string, { mode, pollInterval, claimLimit, ...surroundings }: DispatcherProps) {
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
    const { grantPrincipal: role } = this.function;
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [arnOfQueues(role, surroundings.stage)] }),
    );
    allowKey(role, surroundings.key, 'send');
    this.logsPermission = this.permitLogs(surroundings.stage);
  }

  /** Permits all log groups of the stage at once: a function's policy has room for about fifty. */
  private permitLogs(stage: string): CfnPermission {
    return new CfnPermission(this, 'LogsPermission', {
      action: 'lambda:InvokeFunction',
      functionName: this.function.lambda.functionArn,
      principal: 'logs.amazonaws.com',
      sourceAccount: Stack.of(this).account,
      sourceArn: Stack.of(this).formatArn({
        ...{ service: 'logs', resource: 'log-group', resourceName: logGroupName(`millrace-${stage}-*`) },
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      }),
    });
  }

  /** Subscribes to the log lines that report the end of a handler's process (docs/decisions/0053). */
  receiveEnds(handler: DeployedHandler): void {
    // Within the handler, so that it is in the same stack.
    const filter = new SubscriptionFilter(handler, 'Ends', {
      logGroup: handler.function.logGroup,
      destination: new LambdaDestination(this.function.lambda, { addPermissions: false }),
      filterPattern: FilterPattern.anyTerm(...END_WORDS),
    });
    filter.node.addDependency(this.logsPermission);
  }
}
