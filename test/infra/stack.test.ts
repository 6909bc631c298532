import { Match } from 'aws-cdk-lib/assertions';
import { expect, it } from 'vitest';
import { testDeploySteps } from './deploy-steps.ts';
import { Deployed, type Policy, policiesOf } from './deployed.ts';
import { awsPolicies, expectNamedPolicies } from './managed-policies.ts';
import { EXISTING, synthesise, WATCHED } from './synthesise.ts';

const { stack } = await synthesise({ ...EXISTING, ...WATCHED, stage: 'prod', databaseHost: 'db.example.com' });
const deployed = new Deployed(stack);

it.each([
  ['dispatcher', 150],
  ['dlq-mirror', 60],
])('invokes the %s every minute and never retries', (part, timeout) => {
  const lambda = { FunctionName: `millrace-prod-${part}` };

  const schedule = deployed.find('AWS::Scheduler::Schedule', 'Name', `millrace-prod-${part}`);

  expect(schedule).toMatchObject({
    ScheduleExpression: 'rate(1 minute)',
    GroupName: { Ref: deployed.idOf('AWS::Scheduler::ScheduleGroup', { Name: 'millrace-prod' }) },
    FlexibleTimeWindow: { Mode: 'OFF' },
    Target: {
      Arn: deployed.arnOf('AWS::Lambda::Function', lambda),
      RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
    },
  });
  deployed.template.hasResourceProperties('AWS::Lambda::Function', { ...lambda, Timeout: timeout });
  deployed.template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
    FunctionName: { Ref: deployed.idOf('AWS::Lambda::Function', lambda) },
    MaximumRetryAttempts: 0,
    MaximumEventAgeInSeconds: 60,
  });
});

it('uses wildcards in policies only for the queues of the stage', () => {
  const ours = Object.values(deployed.resources).filter(({ Type }) =>
    /^AWS::IAM::(Policy|ManagedPolicy|Role)$/.test(Type),
  );
  const statements = ours
    .flatMap(({ Properties }) => [Properties.PolicyDocument, ...policiesOf(Properties)] as (Policy | undefined)[])
    .flatMap((policy) => policy?.Statement ?? []);

  const wide = statements.filter((statement) => JSON.stringify([statement.Action, statement.Resource]).includes('*'));

  expect(deployed.all('AWS::IAM::Policy')).toEqual([]);
  expect(statements.length).toBeGreaterThan(10);
  const resources = wide.map(
    ({ Resource }) => JSON.stringify(Resource).match(/":sqs:",.*":millrace-prod-\*(-dlq)?"/)?.[1],
  );
  // The dispatcher; the mirror, and the operators, for both kinds of queues.
  expect(resources).toHaveLength(5);
  expect(resources.filter((suffix) => suffix === '-dlq')).toHaveLength(2);
  expect(wide.filter(({ Resource }) => !JSON.stringify(Resource).includes(':millrace-prod-*'))).toEqual([]);
});

it('uses only AWS managed policies that the security page names', () => {
  expect(awsPolicies(deployed.template)).toEqual([]);
  expectNamedPolicies(deployed.template);
});

it('makes all queues refuse requests without TLS', () => {
  const [policy, ...others] = deployed.all('AWS::SQS::QueuePolicy');

  const queues = Object.keys(deployed.template.findResources('AWS::SQS::Queue'));
  expect(others).toEqual([]);
  expect(policy?.Properties.Queues).toHaveLength(queues.length);
  expect(policy?.Properties.Queues).toEqual(expect.arrayContaining(queues.map((id) => ({ Ref: id }))));
  expect(policy?.Properties.PolicyDocument).toMatchObject({
    Statement: [
      {
        ...{ Effect: 'Deny', Action: 'sqs:*', Principal: { AWS: '*' } },
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      },
    ],
  });
});

it('allows operators what a redrive in the SQS console requires, and nothing else', () => {
  const policies = deployed.all('AWS::IAM::ManagedPolicy');

  const [dead, source] = policies.flatMap(({ Properties }) => (Properties.PolicyDocument as Policy).Statement);
  expect(policies).toHaveLength(1);
  expect(dead).toMatchObject({
    Effect: 'Allow',
    Action: [
      'sqs:CancelMessageMoveTask',
      'sqs:DeleteMessage',
      'sqs:GetQueueAttributes',
      'sqs:ListDeadLetterSourceQueues',
      'sqs:ListMessageMoveTasks',
      'sqs:ReceiveMessage',
      'sqs:StartMessageMoveTask',
    ],
  });
  expect(JSON.stringify(dead?.Resource)).toContain(':millrace-prod-*-dlq"');
  expect(source).toMatchObject({ Effect: 'Allow', Action: 'sqs:SendMessage' });
});

it('serves the API with a rate limit, an access log and no CORS', () => {
  deployed.template.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
    StageName: '$default',
    AccessLogSettings: {
      DestinationArn: deployed.arnOf('AWS::Logs::LogGroup', { LogGroupName: '/aws/apigateway/millrace-prod-api' }),
    },
    DefaultRouteSettings: { ThrottlingRateLimit: 100, ThrottlingBurstLimit: 200 },
  });
  deployed.template.hasResourceProperties('AWS::ApiGatewayV2::Api', { CorsConfiguration: Match.absent() });
});

it('outputs the URLs of the API and the queues, the operator policy and the command to run next, and no more', () => {
  expect(Object.keys(deployed.template.toJSON().Outputs as object)).toHaveLength(4);
  deployed.template.hasOutput('Next', { Value: 'npx millrace doctor --stage prod' });
  for (const name of ['ApiUrl', 'Queues', 'OperatorPolicy']) deployed.template.hasOutput(name, {});
});

testDeploySteps(deployed);

it('matches the reviewed template', async () => {
  const masked = JSON.stringify(deployed.template.toJSON(), null, 2).replaceAll(/[0-9a-f]{64}/g, '<hash>');

  await expect(`${masked}\n`).toMatchFileSnapshot('stack.snap');
});
