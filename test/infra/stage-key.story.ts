import { describe, expect, it } from 'vitest';
import { Deployed, type Policy, policiesOf, type Resource } from './deployed.ts';
import { EXISTING, synthesise } from './synthesise.ts';

const KEY = 'arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef';
const NEW = { database: 'create', egress: 'nat', rotation: '30' };

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: { readonly StringEquals?: Readonly<Record<string, unknown>> };
}

/** Returns the statements of each role and policy by its logical id. */
function statementsById({ resources }: Deployed): [string, Statement[]][] {
  const holders = Object.entries(resources).filter(([, { Type }]) => /^AWS::IAM::(Role|ManagedPolicy)$/.test(Type));
  return holders.map(([id, { Properties }]) => [id, documentsOf(Properties).flatMap((policy) => statementsOf(policy))]);
}

function documentsOf(properties: Resource['Properties']): Policy[] {
  const { PolicyDocument: own } = properties as { PolicyDocument?: Policy };
  return [...policiesOf(properties), ...(own ? [own] : [])];
}

function statementsOf({ Statement: statements }: Policy): Statement[] {
  return statements as unknown as Statement[];
}

function allows(statements: readonly Statement[], action: string): boolean {
  return statements.some(({ Action }) => [Action].flat().includes(action));
}

/** Returns how a role may use the key, as `sqs kms:Decrypt`. A statement without a condition holds for each service. */
function usesOf(statements: readonly Statement[]): string[] {
  const uses = statements.flatMap(({ Action, Resource: resource, Condition }) => {
    const actions = [Action].flat().filter((action) => action.startsWith('kms:'));
    if (actions.length > 0) expect(resource).toBe(KEY);
    const via = JSON.stringify(Condition?.StringEquals?.['kms:ViaService'] ?? 'secretsmanager sqs');
    const services = ['secretsmanager', 'sqs'].filter((service) => via.includes(service));
    return actions.flatMap((action) => services.map((service) => `${service} ${action}`));
  });
  return [...new Set(uses)].toSorted();
}

/** Returns what the other permissions of a role require. */
function needsOf(statements: readonly Statement[]): string[] {
  const needs = [
    ...(allows(statements, 'secretsmanager:GetSecretValue') ? ['secretsmanager kms:Decrypt'] : []),
    ...(allows(statements, 'sqs:ReceiveMessage') ? ['sqs kms:Decrypt'] : []),
    ...(allows(statements, 'sqs:SendMessage') ? ['sqs kms:Decrypt', 'sqs kms:GenerateDataKey'] : []),
  ];
  return [...new Set(needs)].toSorted();
}

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

  it('allows each role to use the key for what it reads and sends, and no other role', () => {
    const holders = statementsById(deployed);

    const uses = holders.map(([id, statements]) => [id, usesOf(statements)]);

    expect(uses).toEqual(holders.map(([id, statements]) => [id, needsOf(statements)]));
    // The schedules and the providers of the steps use nothing; the dispatcher, the mirror and the operators send.
    expect(uses.filter(([, used]) => used?.length === 0)).toHaveLength(4);
    expect(uses.filter(([, used]) => used?.includes('sqs kms:GenerateDataKey'))).toHaveLength(3);
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
