import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { Deployed, type Resource } from './deployed.ts';
import { EXISTING, synthesise } from './synthesise.ts';

type Kept = Resource & { readonly DeletionPolicy?: string };

function ofType(deployed: Deployed, type: string): Kept[] {
  return deployed.all(type);
}

describe('a stage named dev', async () => {
  const { stack } = await synthesise({ database: 'small' });
  const deployed = new Deployed(stack);

  it('has a small database in one zone, and can be deleted', () => {
    deployed.template.hasResourceProperties('AWS::RDS::DBInstance', {
      DBInstanceClass: 'db.t4g.micro',
      EngineVersion: '17',
      AutoMinorVersionUpgrade: true,
      MultiAZ: false,
      StorageEncrypted: true,
      DeletionProtection: false,
      BackupRetentionPeriod: 7,
    });
    expect(stack.terminationProtection).toBe(false);
    const kept = ['AWS::Logs::LogGroup', 'AWS::SQS::Queue'].flatMap((type) => ofType(deployed, type));
    expect(new Set(kept.map(({ DeletionPolicy }) => DeletionPolicy))).toEqual(new Set(['Delete']));
  });

  it('has no alarm, dashboard or metric', () => {
    for (const type of ['Alarm', 'CompositeAlarm', 'Dashboard']) {
      deployed.template.resourceCountIs(`AWS::CloudWatch::${type}`, 0);
    }
    deployed.template.hasResourceProperties('AWS::Lambda::Function', {
      FunctionName: 'millrace-dev-dispatcher',
      Environment: { Variables: Match.objectLike({ MILLRACE_METRICS: 'off', MILLRACE_METRICS_BY_JOB_TYPE: 'off' }) },
    });
  });

  it('leaves its VPC by IPv6, for which nothing is charged', () => {
    for (const type of ['EC2::VPCEndpoint', 'EC2::NatGateway', 'EC2::EIP', 'EC2::InternetGateway']) {
      deployed.template.resourceCountIs(`AWS::${type}`, 0);
    }
    deployed.template.resourceCountIs('AWS::EC2::EgressOnlyInternetGateway', 1);
    const routes = ofType(deployed, 'AWS::EC2::Route').map(({ Properties }) => Properties.DestinationIpv6CidrBlock);
    expect(routes).toEqual(['::/0', '::/0']);
    const subnets = ofType(deployed, 'AWS::EC2::Subnet');
    expect(subnets.map(({ Properties }) => Properties.AssignIpv6AddressOnCreation)).toEqual([true, true]);
    deployed.template.hasResourceProperties('AWS::EC2::SecurityGroup', {
      GroupDescription: 'Functions of Millrace',
      SecurityGroupEgress: Match.arrayWith([Match.objectLike({ CidrIpv6: '::/0', IpProtocol: '-1' })]),
    });
    Annotations.fromStack(stack).hasInfo('*', Match.stringLikeRegexp('hosts that have an IPv6 address.*egress=nat'));
  });

  it('lets every function use IPv6 and endpoints that have it', () => {
    const functions = ofType(deployed, 'AWS::Lambda::Function').filter(({ Properties }) => 'VpcConfig' in Properties);

    expect(functions.length).toBeGreaterThan(6);
    expect(functions.map(({ Properties }) => Properties)).toMatchObject(
      functions.map(() => ({
        VpcConfig: { Ipv6AllowedForDualStack: true },
        Environment: {
          Variables: {
            AWS_USE_DUALSTACK_ENDPOINT: 'true',
            NODE_OPTIONS: '--enable-source-maps --dns-result-order=ipv6first',
          },
        },
      })),
    );
  });
});

describe('any other stage', async () => {
  const settings = { stage: 'prod', standby: 'on', tags: '{"team": "billing"}' };
  const { stack } = await synthesise({ ...settings, egress: 'endpoints', rotation: '30' });
  const deployed = new Deployed(stack);

  it('has a cluster that refuses to be deleted, with backups for 14 days and a second instance', () => {
    deployed.template.hasResourceProperties('AWS::RDS::DBCluster', {
      EngineVersion: '17',
      DeletionProtection: true,
      BackupRetentionPeriod: 14,
    });
    const instances = ofType(deployed, 'AWS::RDS::DBInstance').map(({ Properties }) => Properties);
    expect(instances).toMatchObject([
      { DBInstanceClass: 'db.serverless', AutoMinorVersionUpgrade: true, PromotionTier: 0 },
      { DBInstanceClass: 'db.serverless', AutoMinorVersionUpgrade: true, PromotionTier: 1 },
    ]);
    expect(stack.terminationProtection).toBe(true);
  });

  it('tags its resources', () => {
    for (const type of ['SQS::Queue', 'Lambda::Function', 'RDS::DBCluster', 'Logs::LogGroup']) {
      const properties = { Tags: Match.arrayWith([{ Key: 'team', Value: 'billing' }]) };
      deployed.template.hasResourceProperties(`AWS::${type}`, properties);
    }
  });

  it('keeps its logs and dead letters', () => {
    const queues = ofType(deployed, 'AWS::SQS::Queue').map(({ Properties, DeletionPolicy }) => [
      String(Properties.QueueName).endsWith('-dlq'),
      DeletionPolicy,
    ]);
    const logs = ofType(deployed, 'AWS::Logs::LogGroup').map(({ DeletionPolicy }) => DeletionPolicy);

    expect(new Set(logs)).toEqual(new Set(['RetainExceptOnCreate']));
    expect(new Set(queues.map(String))).toEqual(new Set(['true,RetainExceptOnCreate', 'false,Delete']));
  });

  it('has secrets with the engine and the address of its database, which their rotation requires', () => {
    const attached = ofType(deployed, 'AWS::SecretsManager::SecretTargetAttachment');
    const [cluster] = Object.keys(deployed.template.findResources('AWS::RDS::DBCluster'));

    expect(attached.map(({ Properties }) => Properties)).toMatchObject(
      ['owner', 'runtime', 'app'].map(() => ({ TargetId: { Ref: cluster }, TargetType: 'AWS::RDS::DBCluster' })),
    );
  });

  it('rotates each secret by a function of AWS in its VPC, and not before the logins exist', () => {
    const schedules = ofType(deployed, 'AWS::SecretsManager::RotationSchedule');
    const attached = Object.keys(deployed.template.findResources('AWS::SecretsManager::SecretTargetAttachment'));
    const [registry] = Object.keys(deployed.template.findResources('Custom::MillraceStep')).filter((id) =>
      /Registry/.test(id),
    );

    expect(schedules.map(({ Properties }) => Properties.SecretId)).toEqual(
      expect.arrayContaining(attached.map((Ref) => ({ Ref }))),
    );
    expect(schedules).toMatchObject(
      attached.map(() => ({
        DependsOn: expect.arrayContaining([registry]),
        Properties: {
          RotationRules: { ScheduleExpression: 'rate(30 days)' },
          RotateImmediatelyOnUpdate: false,
          HostedRotationLambda: {
            RotationType: 'PostgreSQLSingleUser',
            VpcSecurityGroupIds: { 'Fn::GetAtt': [expect.stringMatching(/NetworkFunctions/), 'GroupId'] },
          },
        },
      })),
    );
    expect(deployed.template.toJSON().Transform).toEqual([expect.stringMatching(/^AWS::SecretsManager-/)]);
  });
});

it('has a standby of a small database in another zone, and alarms on it, if settings say so', async () => {
  const watched = { protect: 'off', standby: 'on', alarms: 'on' };
  const { stack } = await synthesise({ stage: 'prod', database: 'small', ...watched });

  const { template } = new Deployed(stack);

  const [instance] = Object.keys(template.findResources('AWS::RDS::DBInstance'));
  template.hasResourceProperties('AWS::RDS::DBInstance', { MultiAZ: true, DeletionProtection: false });
  template.hasResourceProperties('AWS::CloudWatch::Alarm', {
    AlarmName: 'millrace-prod-instance-storage',
    Dimensions: [{ Name: 'DBInstanceIdentifier', Value: { Ref: instance } }],
  });
  expect(stack.terminationProtection).toBe(false);
});

it.each([
  [{ rotation: '30' }, /rotation: expected off with egress=ipv6, or egress=endpoints or nat, got 30/],
  [{ rotation: '30', ...EXISTING }, /rotation: expected off, since database is existing/],
  [{ rotation: 'monthly' }, /rotation: expected off, or the days between two rotations, 1 to 1000, got "?monthly/],
])('refuses to rotate with %j', async (settings, reason) => {
  await expect(synthesise({ stage: 'prod', database: 'small', ...settings })).rejects.toThrow(reason);
});
