import { expect, it } from 'vitest';
import type { Context } from '../../infra/settings/context.ts';
import { Deployed } from './deployed.ts';
import { EXISTING, synthesise } from './synthesise.ts';

const IN_A_VPC = {
  ...{ vpcId: 'vpc-0123abcd', subnetIds: 'subnet-0123abcd,subnet-4567abcd', availabilityZones: 'a,b' },
  securityGroupIds: 'sg-0123abcd',
};

/** What a function requires before its first call succeeds. */
const REACHED =
  /^AWS::(EC2::(VPCEndpoint|NatGateway|Route|SubnetRouteTableAssociation|SecurityGroupIngress|EgressOnlyInternetGateway)|RDS::DB|SecretsManager)/;
/** What invokes a function. */
const INVOKERS = [
  ...['Custom::MillraceStep', 'AWS::Scheduler::Schedule'],
  ...['AWS::Lambda::EventSourceMapping', 'AWS::ApiGatewayV2::Route'],
];

/** Returns the ids of all resources that CloudFormation creates before this one. */
function createdBefore({ resources }: Deployed, id: string): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (one: string): void => {
    const { DependsOn = [], Properties } = resources[one] ?? {};
    const text = JSON.stringify(Properties ?? {});
    const named = [...text.matchAll(/"(?:Ref|Fn::GetAtt)":(?:\[)?"([^"]+)"/g)].map(([, name = '']) => name);
    for (const name of [DependsOn, named].flat()) {
      if (found.has(name) || !(name in resources)) continue;
      found.add(name);
      visit(name);
    }
  };
  visit(id);
  return found;
}

it.each<[string, Context, number]>([
  ['a small database, and functions that leave by IPv6', { database: 'small' }, 10],
  ['a new database behind endpoints', { egress: 'endpoints' }, 15],
  ['a new database behind a NAT gateway', { egress: 'nat' }, 15],
  ['a database in a VPC, behind endpoints', { ...EXISTING, ...IN_A_VPC, egress: 'endpoints' }, 6],
])('creates what a function reaches before anything invokes it, with %s', async (_case, context, least) => {
  const { stack } = await synthesise(context);
  const deployed = new Deployed(stack);
  const invokers = Object.entries(deployed.resources).filter(([, { Type }]) => INVOKERS.includes(Type));
  const reached = Object.entries(deployed.resources).filter(([, { Type }]) => REACHED.test(Type));

  const missing = invokers.flatMap(([id]) => {
    const before = createdBefore(deployed, id);
    return reached.filter(([one]) => !before.has(one)).map(([one]) => `${id} before ${one}`);
  });

  expect(reached.length).toBeGreaterThanOrEqual(least);
  expect(invokers.length).toBeGreaterThan(4);
  expect(missing).toEqual([]);
});
