import { Duration, Stack } from 'aws-cdk-lib';
import { Effect, PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnSchedule, type CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { DeployedFunction, type DeployedFunctionProps } from './deployed-function.ts';

const LATE_SECONDS = 60;

export interface ScheduledFunctionProps extends DeployedFunctionProps {
  readonly scheduleGroup: CfnScheduleGroup;
}

/** A function that EventBridge Scheduler invokes every minute. A late or failed invocation is not retried. */
export class ScheduledFunction extends Construct {
  readonly function: DeployedFunction;
  readonly schedule: CfnSchedule;

  constructor(scope: Construct, id: string, props: ScheduledFunctionProps) {
    super(scope, id);
    this.function = new DeployedFunction(this, 'Function', props);
    const { lambda } = this.function;
    lambda.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.seconds(LATE_SECONDS) });
    const role = new Role(this, 'ScheduleRole', {
      // Only for schedules of this account, so that another account cannot use the role.
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
      // Not a grant, which would cover every version of the function with a wildcard.
      inlinePolicies: { invoke: invokes(lambda.functionArn) },
    });
    this.schedule = new CfnSchedule(this, 'Schedule', {
      name: props.name,
      groupName: props.scheduleGroup.ref,
      scheduleExpression: 'rate(1 minute)',
      flexibleTimeWindow: { mode: 'OFF' },
      target: {
        arn: lambda.functionArn,
        roleArn: role.roleArn,
        input: '{}',
        retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: LATE_SECONDS },
      },
    });
  }
}

function invokes(functionArn: string): PolicyDocument {
  return new PolicyDocument({
    statements: [
      new PolicyStatement({ effect: Effect.ALLOW, actions: ['lambda:InvokeFunction'], resources: [functionArn] }),
    ],
  });
}
