import { resolve } from 'node:path';
import { Duration, RemovalPolicy, Stack, Stage } from 'aws-cdk-lib';
import { type IGrantable, ManagedPolicy, type Role } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  type Architecture,
  type FunctionProps,
  Function as LambdaFunction,
  Runtime,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { logGroupName } from '../../core/handler/naming.ts';
import { bundleFunction, type FunctionBundle } from '../bundle/bundle-function.ts';
import { bundleEnvironment, handlerExport, ipv6Environment } from '../bundle/options.ts';
import { acknowledge } from './acknowledge.ts';
import type { DatabaseAccess } from './database.ts';
import { type DatabaseLogin, grantLogin, loginVariables } from './database-login.ts';
import { InlineRole } from './inline-role.ts';
import type { Place } from './network.ts';
import { hasPlace, runImage, runIn } from './own-function.ts';

/** What all functions of a stage share. */
export interface FunctionSurroundings {
  readonly stage: string;
  readonly architecture: Architecture;
  readonly metrics: boolean;
  readonly metricsByJobType: boolean;
  /** What encrypts logs, queues and secrets; undefined for the keys of AWS. */
  readonly key: IKey | undefined;
  /** Whether X-Ray traces functions that do not choose themselves. */
  readonly tracing: boolean;
  readonly database: DatabaseAccess;
  /** Absent for functions outside a VPC. */
  readonly place?: Place;
  /** What a function reaches as soon as it is invoked: routes, endpoints, the database and its secrets. */
  readonly reached: readonly Construct[];
}

export interface DeployedFunctionProps extends FunctionSurroundings {
  /** Predictable, since operators type it. */
  readonly name: string;
  readonly bundle: FunctionBundle;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  /** How it logs in to the database. */
  readonly login: DatabaseLogin;
  readonly environment: Readonly<Record<string, string>>;
  /** What only this function has: temporary storage, tracing, layers. */
  readonly own?: Pick<FunctionProps, 'ephemeralStorageSize' | 'layers' | 'tracing'>;
  /** Its own part of the account's concurrency, which is also the most that it can use. */
  readonly reservedConcurrency?: number | undefined;
}

/** A function with its own log group and role. */
export class DeployedFunction extends Construct implements IGrantable {
  readonly lambda: LambdaFunction;
  readonly logGroup: LogGroup;
  /** The role of the function: `bucket.grantPut(deployed)` allows the function to write. */
  readonly grantPrincipal: Role;

  constructor(scope: Construct, id: string, props: DeployedFunctionProps) {
    super(scope, id);
    const { name, place, database, login, bundle, key } = props;
    this.logGroup = new LogGroup(this, 'Logs', {
      logGroupName: logGroupName(name),
      retention: RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
      ...(key && { encryptionKey: key }),
    });
    const role = new InlineRole(this, 'Role');
    this.grantPrincipal = role;
    this.logGroup.grantWrite(role);
    grantLogin(login, role, key);
    const tracing = chooseTracing(role, props);
    if (place) allowNetworkInterface(role);
    this.lambda = new LambdaFunction(this, 'Function', {
      functionName: name,
      runtime: Runtime.NODEJS_24_X,
      architecture: props.architecture,
      code: bundleFunction(
        bundleFolder(this, name),
        props.architecture,
        { ...bundle, beside: { ...bundle.beside, ...database.beside } },
        // False for commands without assets, such as `cdk list` and `cdk destroy`.
        outermost(Stack.of(this)).bundlingRequired,
      ),
      handler: `index.${handlerExport}`,
      timeout: Duration.seconds(props.timeoutSeconds),
      memorySize: props.memoryMb,
      environment: environmentOf(props),
      role,
      logGroup: this.logGroup,
      ...props.own,
      tracing,
      ...(props.reservedConcurrency !== undefined && { reservedConcurrentExecutions: props.reservedConcurrency }),
      ...(place && {
        vpc: place.vpc,
        vpcSubnets: { subnets: [...place.subnets] },
        securityGroups: [...place.securityGroups],
        ...(place.ipv6 && { ipv6AllowedForDualStack: true }),
      }),
    });
  }

  /** Runs a container image in place of the bundle. Lambda cannot change a deployed function from one to the other. */
  useImage(uri: string): void {
    runImage(this.lambda, uri);
  }

  /** Runs the function in these subnets, in place of those of the stage. */
  useVpc(place: Omit<Place, 'vpc'>): void {
    if (!hasPlace(this.lambda)) allowNetworkInterface(this.grantPrincipal);
    runIn(this.lambda, place);
  }
}

/** Returns the folder into which the function with this name is bundled. */
export function bundleFolder(scope: Construct, name: string): string {
  const app = Stage.of(scope);
  if (app === undefined) throw new Error(`${scope.node.path} is not part of an app`);
  return resolve(app.outdir, 'bundles', name);
}

function environmentOf(props: DeployedFunctionProps): Record<string, string> {
  return {
    ...bundleEnvironment,
    ...(props.place?.ipv6 && ipv6Environment),
    MILLRACE_STAGE: props.stage,
    ...(!props.metrics && { MILLRACE_METRICS: 'off' }),
    ...(!props.metricsByJobType && { MILLRACE_METRICS_BY_JOB_TYPE: 'off' }),
    ...loginVariables(props.login),
    ...props.database.environment,
    ...props.environment,
  };
}

function chooseTracing(role: Role, { own, tracing }: DeployedFunctionProps): Tracing {
  const chosen = own?.tracing ?? (tracing ? Tracing.ACTIVE : Tracing.DISABLED);
  const reason = 'The two actions that send traces to X-Ray allow no resource.';
  if (chosen === Tracing.ACTIVE) acknowledge(role, 'IAM5[Resource::*]', reason);
  return chosen;
}

/** Returns the stack whose name a command such as `cdk deploy millrace-dev` has, in place of a nested one. */
function outermost(stack: Stack): Stack {
  return stack.nestedStackParent ? outermost(stack.nestedStackParent) : stack;
}

function allowNetworkInterface(role: Role): void {
  const name = 'service-role/AWSLambdaENIManagementAccess';
  role.addManagedPolicy(ManagedPolicy.fromAwsManagedPolicyName(name));
  const rule = `IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${name}]`;
  acknowledge(role, rule, 'A function in a VPC creates its own network interface, which has no ARN in advance.');
}
