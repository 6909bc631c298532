import { CustomResource, Duration, RemovalPolicy } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Provider } from 'aws-cdk-lib/custom-resources';
import { Construct } from 'constructs';
import type { DeployedFunction } from './deployed-function.ts';
import { InlineRole } from './inline-role.ts';

export interface StepResourceProps {
  readonly step: DeployedFunction;
  /** What encrypts the log; undefined for the keys of AWS. */
  readonly key: IKey | undefined;
  /** What the function also gets. */
  readonly properties?: Readonly<Record<string, string>>;
}

/** Longer than the 15 minutes of the function that answers; without an answer, CloudFormation waits for this time. */
const ANSWERED_WITHIN = Duration.minutes(17);

/** Runs the function of a step when its code or settings have changed since the last deployment. */
export class StepResource extends Construct {
  /** What precedes the step, or waits for it. */
  readonly resource: CustomResource;

  constructor(scope: Construct, id: string, { step, key, properties = {} }: StepResourceProps) {
    super(scope, id);
    const logGroup = new LogGroup(this, 'Logs', {
      retention: RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
      ...(key && { encryptionKey: key }),
    });
    const role = new InlineRole(this, 'Role');
    logGroup.grantWrite(role);
    const actions = ['lambda:InvokeFunction', 'lambda:GetFunction'];
    role.addToPolicy(new PolicyStatement({ actions, resources: [step.lambda.functionArn] }));
    const provider = new Provider(this, 'Provider', {
      onEventHandler: step.lambda,
      logGroup,
      // CDK itself would allow every version of the function.
      frameworkOnEventRole: role.withoutPolicyUpdates(),
    });
    const { code, environment } = step.lambda.node.defaultChild as CfnFunction;
    this.resource = new CustomResource(this, 'Resource', {
      serviceToken: provider.serviceToken,
      serviceTimeout: ANSWERED_WITHIN,
      resourceType: 'Custom::MillraceStep',
      properties: { ...properties, Code: (code as CfnFunction.CodeProperty).s3Key, Environment: environment },
    });
  }
}
