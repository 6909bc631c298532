import { describe, expect, it } from 'vitest';
import { type Deployed, policiesOf } from './deployed.ts';
import { EXISTING } from './synthesise.ts';

/** Tests the two steps of a deployment in the template of the stage `prod`, with the host `db.example.com`. */
export function testDeploySteps(deployed: Deployed): void {
  describe('the deploy steps', () => {
    it('migrate the schema as its owner, before any mapping, schedule or route exists', () => {
      const migrate = deployed.find('AWS::Lambda::Function', 'FunctionName', 'millrace-prod-migrate');
      const waiting = ['AWS::Lambda::EventSourceMapping', 'AWS::Scheduler::Schedule', 'AWS::ApiGatewayV2::Route'];

      const early = Object.values(deployed.resources).filter(
        ({ Type, DependsOn = [] }) => waiting.includes(Type) && !DependsOn.includes(idOfStep(deployed, 'Migrate')),
      );

      expect(migrate).toMatchObject({
        Timeout: 840,
        Environment: {
          Variables: {
            MILLRACE_DATABASE_SECRET: EXISTING.databaseOwnerSecret,
            MILLRACE_RUNTIME_SECRET: EXISTING.databaseRuntimeSecret,
            MILLRACE_MIGRATIONS: '/var/task/migrations',
          },
        },
      });
      expect(early).toEqual([]);
    });

    it('write the registry after all queues, functions and mappings', () => {
      const named = ['AWS::Lambda::EventSourceMapping', 'AWS::SQS::Queue'];
      const all = Object.entries(deployed.resources);
      const { DependsOn = [] } = deployed.resources[idOfStep(deployed, 'Registry')] ?? {};

      const missing = all.filter(([id, { Type }]) => named.includes(Type) && !DependsOn.includes(id));

      expect(missing).toEqual([]);
    });

    it('pass the prefix of queue URLs to the registry', () => {
      const registry = deployed.find('AWS::Lambda::Function', 'FunctionName', 'millrace-prod-registry');

      expect(registry).toMatchObject({
        Environment: {
          Variables: {
            MILLRACE_QUEUE_URL_PREFIX: {
              'Fn::Select': [0, { 'Fn::Split': ['millrace-prod-make_thumbnail', expect.anything()] }],
            },
          },
        },
      });
    });

    it('write logs that are deleted with the stack', () => {
      const groups = deployed.template.findResources('AWS::Logs::LogGroup');

      const elsewhere = Object.values(deployed.resources)
        .filter(({ Type }) => Type === 'AWS::Lambda::Function')
        .map(({ Properties }) => Properties.LoggingConfig as { LogGroup: { Ref: string } } | undefined)
        .filter((logging) => groups[logging?.LogGroup.Ref ?? '']?.DeletionPolicy !== 'Delete');

      expect(elsewhere).toEqual([]);
    });

    it('name their database and everything else whose change requires another run', () => {
      const registry = deployed.find('AWS::Lambda::Function', 'FunctionName', 'millrace-prod-registry');

      const step = deployed.resources[idOfStep(deployed, 'Registry')];

      const { Code, Environment } = registry as { Code: { S3Key: string }; Environment: { Variables: object } };
      const database = `${EXISTING.databaseOwnerSecret}@db.example.com`;
      expect(step?.Properties).toMatchObject({
        ...{ Database: database, Code: Code.S3Key },
        Environment: { variables: Environment.Variables },
      });
      expect(deployed.resources[idOfStep(deployed, 'Migrate')]?.Properties).toMatchObject({ Database: database });
    });

    it('end before the function that answers CloudFormation, which may invoke only the function of its step', () => {
      const timeouts = ['migrate', 'registry'].map((step) => {
        return deployed.find('AWS::Lambda::Function', 'FunctionName', `millrace-prod-${step}`)?.Timeout as number;
      });
      const answering = deployed.all('AWS::Lambda::Function').filter(({ Properties }) => Properties.Timeout === 900);
      const roles = answering.map(({ Properties }) => Properties.Role as { 'Fn::GetAtt': [string, string] });
      const statements = roles
        .flatMap(({ 'Fn::GetAtt': [role] }) => policiesOf(deployed.resources[role]?.Properties ?? {}))
        .flatMap(({ Statement }) => Statement);

      expect(Math.max(...timeouts)).toBeLessThan(900);
      expect(statements.filter(({ Action }) => JSON.stringify(Action).includes('lambda:'))).toEqual(
        ['migrate', 'registry'].map((step) => ({
          Effect: 'Allow',
          Action: ['lambda:GetFunction', 'lambda:InvokeFunction'],
          Resource: deployed.arnOf('AWS::Lambda::Function', { FunctionName: `millrace-prod-${step}` }),
        })),
      );
    });
  });
}

function idOfStep(deployed: Deployed, step: string): string {
  const ids = Object.keys(deployed.template.findResources('Custom::MillraceStep'));
  return ids.find((id) => id.includes(step)) ?? `no ${step}`;
}
