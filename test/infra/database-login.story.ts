import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { Deployed } from './deployed.ts';
import { IAM, synthesise } from './synthesise.ts';

const FUNCTIONS = ['dispatcher', 'dlq-mirror', 'api', 'registry', 'send_reminder', 'make_thumbnail'];
const arnOf = (resource: unknown) => ({
  'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, ':rds-db:', ...REGION, ...[resource].flat()]],
});
const REGION = [{ Ref: 'AWS::Region' }, ':', { Ref: 'AWS::AccountId' }];

/** Returns the template of the stage `prod`, with what a function may do in the database and in Secrets Manager. */
async function deploy(context: object) {
  const { stack } = await synthesise({ stage: 'prod', ...context });
  const deployed = new Deployed(stack);
  const allowed = (name: string) =>
    deployed
      .statementsOf(`millrace-prod-${name}`)
      .filter(({ Action }) => JSON.stringify(Action).match(/rds|secretsmanager/))
      .map(({ Action, Resource }) => ({ Action, Resource }));
  const variablesOf = (name: string) => {
    const lambda = deployed.find('AWS::Lambda::Function', 'FunctionName', `millrace-prod-${name}`);
    const { Variables = {} } = (lambda?.Environment ?? {}) as { Variables?: Record<string, unknown> };
    return Variables;
  };
  const warnings = Annotations.fromStack(stack)
    .findWarning('*', Match.anyValue())
    .map(({ entry }) => String(entry.data));
  return { deployed, allowed, variablesOf, warnings };
}

describe('with databaseLogin=iam and an existing database', async () => {
  const { allowed, variablesOf } = await deploy(IAM);

  it.each(FUNCTIONS)('the function %s may log in as the user of the stage, and read no secret', (name) => {
    const Resource = arnOf(':dbuser:db-ABCDEFGHIJKL01234/prod_functions');

    expect(allowed(name)).toEqual([{ Action: 'rds-db:connect', Resource }]);
    expect(variablesOf(name)).toMatchObject({
      ...{ MILLRACE_DATABASE_USER: 'prod_functions', MILLRACE_DATABASE_CA: '/var/task/rds-ca.pem' },
      ...{ MILLRACE_DATABASE_HOST: 'db.example.com', MILLRACE_DATABASE_NAME: 'jobs' },
    });
    expect(variablesOf(name)).not.toHaveProperty('MILLRACE_DATABASE_SECRET');
  });

  it('the function that migrates logs in with the secret of the owner, and creates the user', () => {
    expect(allowed('migrate').map(({ Resource }) => Resource)).toEqual([IAM.databaseOwnerSecret]);
    expect(variablesOf('migrate')).toMatchObject({
      MILLRACE_DATABASE_SECRET: IAM.databaseOwnerSecret,
      MILLRACE_RUNTIME_USER: 'prod_functions',
    });
    expect(variablesOf('migrate')).not.toHaveProperty('MILLRACE_RUNTIME_SECRET');
  });
});

describe.each([
  ['create', 'AWS::RDS::DBCluster', 'DBClusterResourceId', 0],
  ['small', 'AWS::RDS::DBInstance', 'DbiResourceId', 1],
])('with databaseLogin=iam and database=%s', (database, type, attribute, warned) => {
  it('the database accepts tokens, and functions log in as a user of their own', async () => {
    const choice = { database, databaseLogin: 'iam', protect: 'off' };
    const { deployed, allowed, variablesOf, warnings } = await deploy(choice);
    const [[id, made] = []] = Object.entries(deployed.template.findResources(type));

    const Resource = arnOf([':dbuser:', { 'Fn::GetAtt': [id, attribute] }, '/millrace_functions_iam']);
    expect(made?.Properties.EnableIAMDatabaseAuthentication).toBe(true);
    expect(FUNCTIONS.map(allowed)).toEqual(FUNCTIONS.map(() => [{ Action: 'rds-db:connect', Resource }]));
    expect(variablesOf('send_reminder')).toMatchObject({ MILLRACE_DATABASE_USER: 'millrace_functions_iam' });
    expect(warnings.filter((text) => text.includes('MiB of free memory'))).toHaveLength(warned);
    // Those of the owner and of applications.
    expect(deployed.all('AWS::SecretsManager::Secret')).toHaveLength(2);
  });
});

it('databaseLogin=iam rotates the secrets of the owner and of applications', async () => {
  const given = { database: 'create', databaseLogin: 'iam', protect: 'off', rotation: '30', egress: 'nat' };

  const { deployed } = await deploy(given);

  expect(deployed.all('AWS::SecretsManager::RotationSchedule')).toHaveLength(2);
});
