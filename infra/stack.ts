import { readFileSync } from 'node:fs';
import { Annotations, type App, CfnResource, Stack } from 'aws-cdk-lib';
import { SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2';
import type { Construct } from 'constructs';
import { type HandlerEntry, loadCatalog } from '../core/handler/catalog.ts';
import { failureLine } from '../core/handler/catalog-failure.ts';
import { openProbe } from '../core/handler/probe.ts';
import { Millrace, type MillraceProps } from './millrace.ts';
import type { Context } from './settings/context.ts';
import type { NetworkChoice } from './settings/place-settings.ts';
import { readSettings } from './settings/settings.ts';

/** CloudFormation's limit for one stack. */
const MOST_RESOURCES = 500;
const MANY = 0.8 * MOST_RESOURCES;

const probe = openProbe();

/** Makes the stack of one stage from the context of the app. */
export async function makeStack(app: App, context: Context): Promise<Stack> {
  const { handlersFolder, network, ...settings } = readSettings(context);
  const handlers = await readHandlers(handlersFolder);
  const stack = new Stack(app, `millrace-${settings.stage}`);
  new Millrace(stack, 'Millrace', {
    ...settings,
    handlers,
    network: toNetwork(stack, network),
    version: readVersion(),
  });
  checkSize(stack, handlers.length);
  return stack;
}

async function readHandlers(folder: string): Promise<readonly HandlerEntry[]> {
  const { handlers, failures } = await loadCatalog(folder, probe).catch((cause: unknown) => {
    throw new Error(`handlers: the folder ${folder} does not exist`, { cause });
  });
  if (failures.length > 0) throw new Error(failures.map((failure) => failureLine(failure, process.cwd())).join('\n'));
  return handlers;
}

function toNetwork(scope: Construct, { inside, ...rest }: NetworkChoice): MillraceProps['network'] {
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

function readVersion(): string {
  return (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version;
}

/**
 * Warns when a stack is close to CloudFormation's limit.
 * @throws Error when the stack is above it.
 */
export function checkSize(stack: Stack, handlers: number): void {
  const resources = stack.node.findAll().filter((one) => CfnResource.isCfnResource(one)).length;
  const sentence =
    `handlers: ${handlers} handlers make ${resources} resources, and CloudFormation allows ${MOST_RESOURCES} in a stack; ` +
    'move some to another folder with its own stage and database, or set -c alarms=off';
  if (resources > MOST_RESOURCES) throw new Error(sentence);
  if (resources > MANY) Annotations.of(stack).addWarningV2('millrace:resources', sentence);
}
