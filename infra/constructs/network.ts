import {
  InterfaceVpcEndpoint,
  InterfaceVpcEndpointAwsService,
  IpProtocol,
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
  /** The security groups from which the database accepts connections. */
  readonly securityGroups: readonly ISecurityGroup[];
  /** Whether functions leave the VPC by IPv6. */
  readonly ipv6?: boolean;
}

const SERVICES = {
  Sqs: InterfaceVpcEndpointAwsService.SQS,
  SecretsManager: InterfaceVpcEndpointAwsService.SECRETS_MANAGER,
};
/** Only the API invokes a function, the dispatcher. */
const SERVICES_OF_API = { ...SERVICES, Lambda: InterfaceVpcEndpointAwsService.LAMBDA };

/**
 * Returns the egress to build.
 * @throws SettingError for `egress` when functions could not reach AWS or the issuer of tokens.
 */
export function checkEgress(
  wanted: Egress | undefined,
  world: { vpc: 'new' | 'given' | 'none'; jwt: boolean },
): Egress {
  const refuse = (expected: string): never => {
    throw new SettingError('egress', expected, wanted);
  };
  const egress = wanted ?? (world.vpc === 'new' ? 'ipv6' : 'none');
  if (world.vpc === 'none' && wanted !== undefined) refuse('no value without a VPC, where functions use the internet');
  if (world.vpc === 'new' && egress === 'none') {
    refuse('ipv6, endpoints or nat, since the VPC of a new database has no other route');
  }
  if (world.vpc === 'given' && egress === 'nat')
    refuse('ipv6, endpoints or none: the owner of the VPC provides a NAT gateway');
  if (world.jwt && egress === 'endpoints') {
    refuse(`${world.vpc === 'new' ? 'nat or ipv6' : 'none or ipv6'}, since the API fetches the keys of jwtIssuer`);
  }
  return egress;
}

/** Makes a VPC in two zones for the functions and the database. */
export function newPlace(scope: Construct, egress: Egress): Place {
  const group = new Construct(scope, 'Network');
  const ipv6 = egress === 'ipv6';
  const leaves = ipv6 || egress === 'nat';
  const vpc = new Vpc(group, 'Vpc', {
    maxAzs: 2,
    natGateways: egress === 'nat' ? 1 : 0,
    createInternetGateway: egress === 'nat',
    ...(ipv6 && { ipProtocol: IpProtocol.DUAL_STACK }),
    subnetConfiguration: [
      {
        name: 'functions',
        cidrMask: 22,
        subnetType: leaves ? SubnetType.PRIVATE_WITH_EGRESS : SubnetType.PRIVATE_ISOLATED,
      },
      ...(egress === 'nat' ? [{ name: 'nat', cidrMask: 28, subnetType: SubnetType.PUBLIC }] : []),
    ],
    // Nothing uses the default security group, and restricting it requires another function.
    restrictDefaultSecurityGroup: false,
  });
  acknowledge(
    vpc,
    'VPC7',
    'Only the database accepts connections, and only from the functions; a flow log costs money.',
  );
  const subnets = leaves ? vpc.privateSubnets : vpc.isolatedSubnets;
  const securityGroups = [
    new SecurityGroup(group, 'Functions', {
      vpc: vpc as IVpc,
      description: 'Functions of Millrace',
      allowAllIpv6Outbound: ipv6,
    }),
  ];
  // The interfaces of CDK do not support exactOptionalPropertyTypes.
  return { vpc: vpc as IVpc, subnets, securityGroups, ipv6 };
}

/** Adds an endpoint per AWS service that functions call, open to the functions only. */
export function addEndpoints(scope: Construct, place: Place, { api }: { readonly api: boolean }): void {
  const { vpc, subnets, securityGroups } = place;
  const group = new Construct(scope, 'Endpoints');
  for (const [id, service] of Object.entries(api ? SERVICES_OF_API : SERVICES)) {
    const endpoint = new InterfaceVpcEndpoint(group, id, {
      vpc,
      service,
      subnets: { subnets: [...subnets] },
      open: false,
    });
    for (const securityGroup of securityGroups) endpoint.connections.allowDefaultPortFrom(securityGroup);
  }
}
