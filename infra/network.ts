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
import { acknowledge } from './acknowledge.ts';

/**
 * How functions in a VPC reach SQS, Lambda and Secrets Manager. Prices a month in two zones, us-east-1:
 * - `endpoints`: an interface endpoint for each, $14.60 an endpoint, $43.80 in all; nothing else on the internet;
 * - `nat`: one NAT gateway, $32.85 and $0.045 a GB; whatever is on the internet, such as a mail server;
 * - `none`: $0; the VPC has a way of its own.
 */
export type Egress = 'endpoints' | 'nat' | 'none';

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
