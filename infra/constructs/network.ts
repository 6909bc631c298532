import {
  InterfaceVpcEndpoint,
  InterfaceVpcEndpointAwsService,
  type ISecurityGroup,
  type ISubnet,
  type IVpc,
  SecurityGroup,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { Construct } from 'constructs';
import { SettingError } from '../../core/errors.ts';
import type { Egress } from '../settings/place-settings.ts';
import { acknowledge } from './acknowledge.ts';

/** Where functions run. */
export interface Place {
  readonly vpc: IVpc;
  readonly subnets: readonly ISubnet[];
  /** From which the database takes connections. */
  readonly securityGroups: readonly ISecurityGroup[];
}

const REACHED = {
  Sqs: InterfaceVpcEndpointAwsService.SQS,
  SecretsManager: InterfaceVpcEndpointAwsService.SECRETS_MANAGER,
  Lambda: InterfaceVpcEndpointAwsService.LAMBDA,
};

/**
 * Says when what is wanted cannot be reached.
 * @throws SettingError that names `egress`.
 */
export function checkEgress(
  wanted: Egress | undefined,
  world: { vpc: 'new' | 'given' | 'none'; jwt: boolean },
): Egress {
  const refuse = (expected: string): never => {
    throw new SettingError('egress', expected, wanted);
  };
  const egress = wanted ?? (world.vpc === 'new' ? 'endpoints' : 'none');
  if (world.vpc === 'none' && wanted !== undefined)
    refuse('nothing without a VPC, where all is reached over the internet');
  if (world.vpc === 'new' && egress === 'none') {
    refuse('endpoints or nat, since the VPC of a new database has no way of its own');
  }
  if (world.vpc === 'given' && egress === 'nat') refuse('endpoints or none: a NAT gateway is for whoever owns the VPC');
  if (world.jwt && egress === 'endpoints') {
    refuse(`${world.vpc === 'new' ? 'nat' : 'none'}, since the API fetches the keys of jwtIssuer`);
  }
  return egress;
}

/** A new VPC of two zones for functions and database. */
export function newPlace(scope: Construct, egress: Egress): Place {
  const group = new Construct(scope, 'Network');
  const functions = { name: 'functions', cidrMask: 22 };
  const vpc = new Vpc(group, 'Vpc', {
    maxAzs: 2,
    natGateways: egress === 'nat' ? 1 : 0,
    subnetConfiguration:
      egress === 'nat'
        ? [
            { ...functions, subnetType: SubnetType.PRIVATE_WITH_EGRESS },
            { name: 'nat', cidrMask: 28, subnetType: SubnetType.PUBLIC },
          ]
        : [{ ...functions, subnetType: SubnetType.PRIVATE_ISOLATED }],
    // Nothing is in the default group, and emptying it takes a function of its own.
    restrictDefaultSecurityGroup: false,
  });
  acknowledge(
    vpc,
    'VPC7',
    'Nothing takes connections in it but the database, from functions alone; a flow log is paid for.',
  );
  const subnets = egress === 'nat' ? vpc.privateSubnets : vpc.isolatedSubnets;
  const securityGroups = [
    new SecurityGroup(group, 'Functions', { vpc: vpc as IVpc, description: 'Functions of Millrace' }),
  ];
  // The interfaces of CDK are not written for exact optional properties.
  return { vpc: vpc as IVpc, subnets, securityGroups };
}

/** An endpoint for each service that functions call, open to the functions alone. */
export function addEndpoints(scope: Construct, { vpc, subnets, securityGroups }: Place): void {
  const group = new Construct(scope, 'Endpoints');
  for (const [id, service] of Object.entries(REACHED)) {
    const endpoint = new InterfaceVpcEndpoint(group, id, {
      vpc,
      service,
      subnets: { subnets: [...subnets] },
      open: false,
    });
    for (const securityGroup of securityGroups) endpoint.connections.allowDefaultPortFrom(securityGroup);
  }
}
