import { Annotations, type App, CfnResource, Stack, Tags } from 'aws-cdk-lib';
import { SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2';
import type { Construct } from 'constructs';
import { allSettings } from '../core/config.ts';
import type { Variables } from '../core/handler/variables.ts';
import { readFileContext } from '../core/settings/stage-list.ts';
import { Outputs } from './constructs/outputs.ts';
import { usualHandlers } from './handlers.ts';
import { Millrace, type MillraceProps } from './millrace.ts';
import type { Context } from './settings/context.ts';
import type { NetworkChoice } from './settings/place-settings.ts';
import { readSettings } from './settings/settings.ts';
import { doctorCommand } from './settings/stages.ts';

/** CloudFormation's limit for one stack. */
const MOST_RESOURCES = 500;
const MANY = 0.8 * MOST_RESOURCES;
/** Names of handlers are distributed by a hash, so that some stacks get more than their share. */
const HANDLERS_A_STACK = 30;

export interface MillraceStackOptions {
  /** Folder of the handler files, unless the context names one. Default: `jobs`, else `functions/handlers`. */
  readonly handlers?: string;
  /** The settings of the stage; default: the context of the app, from `cdk.json` and `-c name=value`. */
  readonly context?: Context;
  /** Variables that set the attempts of handlers, unless the context does; default: the environment of the process. */
  readonly environment?: Variables;
}

/** One stage of Millrace in a stack of its own, with the settings in docs/deploy.md, and outputs. */
export class MillraceStack extends Stack {
  readonly millrace: Millrace;

  constructor(app: App, options: MillraceStackOptions = {}) {
    const { handlers = usualHandlers(), context = app.node.getAllContext(), environment = allSettings() } = options;
    const files = readFileContext('.');
    const { handlersFolder, network, tags, ...settings } = readSettings(context, handlers, files);
    const { stage, protect } = settings;
    super(app, `millrace-${stage}`, { terminationProtection: protect, description: `Millrace, stage ${stage}` });
    for (const [name, value] of Object.entries(tags)) Tags.of(this).add(name, value);
    this.millrace = new Millrace(this, 'Millrace', {
      ...settings,
      handlers: handlersFolder,
      variables: { ...environment, ...settings.variables },
      network: toNetwork(this, network),
    });
    const next = doctorCommand({ stage: settings.stage, handlersFolder }, files, usualHandlers());
    new Outputs(this.millrace, 'Outputs', { of: this.millrace, next });
    checkSize(this, this.millrace.handlers.length);
  }
}

function toNetwork(scope: Construct, { inside, ...rest }: NetworkChoice): NonNullable<MillraceProps['network']> {
  if (inside === undefined) return rest;
  const { vpcId, subnetIds, securityGroupIds, availabilityZones } = inside;
  const vpc = Vpc.fromVpcAttributes(scope, 'Vpc', {
    vpcId,
    availabilityZones: [...availabilityZones],
    privateSubnetIds: [...subnetIds],
  });
  const reason = 'The owner of the VPC manages its routes: this stack adds none.';
  Annotations.of(vpc).acknowledgeWarning('@aws-cdk/aws-ec2:noSubnetRouteTableId', reason);
  const securityGroups = securityGroupIds.map((id) => SecurityGroup.fromSecurityGroupId(scope, id, id));
  return { ...rest, place: { vpc, subnets: vpc.privateSubnets, securityGroups } };
}

/**
 * Warns when a stack or one of its nested stacks is close to CloudFormation's limit.
 * @throws Error when one is above it.
 */
export function checkSize(stack: Stack, handlers: number): void {
  const counts = Map.groupBy(
    stack.node.findAll().filter((one) => CfnResource.isCfnResource(one)),
    (one) => Stack.of(one),
  );
  for (const [one, { length: resources }] of counts) {
    const stacks = Math.ceil(handlers / HANDLERS_A_STACK);
    const where = one === stack ? 'the stack' : 'a nested stack';
    const sentence =
      `handlers: ${handlers} handlers make ${resources} resources in ${where}, ` +
      `and CloudFormation allows ${MOST_RESOURCES}; set -c handlerStacks=${stacks} before the first deployment ` +
      'of the stage, or move some to another folder with its own stage and database';
    if (resources > MOST_RESOURCES) throw new Error(sentence);
    if (resources > MANY) Annotations.of(one).addWarningV2('millrace:resources', sentence);
  }
}
