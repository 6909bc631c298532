import { describe, expect, it } from 'vitest';
import { Deployed } from './deployed.ts';
import { KEY } from './key-uses.ts';
import { EXISTING, synthesise } from './synthesise.ts';

const NEW = { database: 'create', egress: 'nat', rotation: '30' };

describe.each([
  ['a new database', NEW],
  ['a database of the user', EXISTING],
])('with kmsKey, tracing and %s', async (_case, settings) => {
  const alarms = { alarmEmail: 'oncall@example.com' };
  const { stack } = await synthesise({ stage: 'prod', kmsKey: KEY, tracing: 'on', ...alarms, ...settings });
  const deployed = new Deployed(stack);

  it('encrypts all that the stage stores with the key', () => {
    const properties = {
      ...{ 'AWS::SQS::Queue': 'KmsMasterKeyId', 'AWS::SNS::Topic': 'KmsMasterKeyId' },
      ...{ 'AWS::Logs::LogGroup': 'KmsKeyId', 'AWS::SecretsManager::Secret': 'KmsKeyId' },
      'AWS::RDS::DBCluster': 'KmsKeyId',
    };
    const keys = Object.entries(properties).flatMap(([type, name]) =>
      deployed.all(type).map(({ Properties }) => [type, Properties[name]]),
    );

    expect(keys).toEqual(keys.map(([type]) => [type, KEY]));
    expect(new Set(keys.map(([type]) => type)).size).toBe(settings === NEW ? 5 : 3);
  });

  it('gives the key to the functions of AWS that rotate new secrets', () => {
    const schedules = deployed.all('AWS::SecretsManager::RotationSchedule');
    const keys = schedules.map(({ Properties }) => Properties.HostedRotationLambda);

    expect(keys).toMatchObject((settings === NEW ? [1, 2, 3] : []).map(() => ({ KmsKeyArn: KEY })));
  });

  it('traces all functions that are invoked between deployments', () => {
    const functions = deployed.all('AWS::Lambda::Function').filter(({ Properties }) => 'TracingConfig' in Properties);
    const names = functions.map(({ Properties }) => Properties.FunctionName as string);

    const expected = ['api', 'dispatcher', 'dlq-mirror', 'make_thumbnail', 'send_reminder'];
    expect(names.toSorted()).toEqual(expected.map((name) => `millrace-prod-${name}`));
    for (const name of names) expect(JSON.stringify(deployed.statementsOf(name))).toContain('xray:PutTraceSegments');
  });
});

it.each([
  ['create', 'AWS::RDS::DBCluster'],
  ['small', 'AWS::RDS::DBInstance'],
])('with database=%s, the deployment knows a replaced database as another one', async (database, type) => {
  const { stack } = await synthesise({ stage: 'prod', kmsKey: KEY, database });
  const deployed = new Deployed(stack);

  const [id, made] = Object.entries(deployed.template.findResources(type, { Properties: { KmsKeyId: KEY } }))[0] ?? [];
  const step = deployed.all('Custom::MillraceStep').find(({ Properties }) => 'Database' in Properties);

  // A change of the key replaces the database. The migrate step then refuses its other address.
  expect(made).toMatchObject({ UpdateReplacePolicy: 'Snapshot' });
  expect(JSON.stringify(step?.Properties.Database)).toContain(`"Fn::GetAtt":["${id}","Endpoint.Address"]`);
});
