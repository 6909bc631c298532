import { describe, expect, it } from 'vitest';
import { Deployed } from './deployed.ts';
import { EXISTING, synthesise } from './synthesise.ts';

const { stack } = await synthesise({ ...EXISTING, stage: 'prod', databaseHost: 'db.example.com' });
const deployed = new Deployed(stack);

describe.each([
  // Function timeout = timeout + 2 s + 5 s + 3 s; visibility timeout = 6 times that.
  { name: 'send_reminder', timeout: 40, visibility: 240, batch: 10, concurrency: 5, memory: 256 },
  { name: 'make_thumbnail', timeout: 70, visibility: 420, batch: 1, concurrency: 10, memory: 1792 },
])('handler $name', ({ name, timeout, visibility, batch, concurrency, memory }) => {
  it('has a queue whose failed messages SQS moves to its dead-letter queue', () => {
    const deadLetterQueue = deployed.idOf('AWS::SQS::Queue', { QueueName: `millrace-prod-${name}-dlq` });

    const queue = deployed.find('AWS::SQS::Queue', 'QueueName', `millrace-prod-${name}`);

    expect(queue).toEqual({
      QueueName: `millrace-prod-${name}`,
      VisibilityTimeout: visibility,
      MessageRetentionPeriod: 345_600,
      SqsManagedSseEnabled: true,
      RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': [deadLetterQueue, 'Arn'] }, maxReceiveCount: 5 },
    });
  });

  it('has a dead-letter queue that keeps messages of that queue only, for 14 days', () => {
    const queue = deployed.find('AWS::SQS::Queue', 'QueueName', `millrace-prod-${name}-dlq`);

    expect(queue).toMatchObject({
      MessageRetentionPeriod: 1_209_600,
      SqsManagedSseEnabled: true,
      RedriveAllowPolicy: { redrivePermission: 'byQueue' },
    });
    expect(JSON.stringify(queue?.RedriveAllowPolicy)).toContain(`:millrace-prod-${name}"`);
  });

  it('has a function on Node 24 and Graviton', () => {
    const lambda = deployed.find('AWS::Lambda::Function', 'FunctionName', `millrace-prod-${name}`);

    expect(lambda).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      Timeout: timeout,
      MemorySize: memory,
    });
    expect(lambda).not.toHaveProperty('ReservedConcurrentExecutions');
  });

  it('passes the addresses of queue and database to its function', () => {
    const lambda = deployed.find('AWS::Lambda::Function', 'FunctionName', `millrace-prod-${name}`);

    expect(lambda?.Environment).toEqual({
      Variables: {
        NODE_OPTIONS: '--enable-source-maps',
        MILLRACE_STAGE: 'prod',
        MILLRACE_QUEUE_URL: { Ref: deployed.idOf('AWS::SQS::Queue', { QueueName: `millrace-prod-${name}` }) },
        MILLRACE_DATABASE_SECRET: EXISTING.databaseRuntimeSecret,
        MILLRACE_DATABASE_CA: '/var/task/rds-ca.pem',
        MILLRACE_DATABASE_HOST: 'db.example.com',
      },
    });
  });

  it('has a mapping with partial batch responses', () => {
    const lambda = deployed.idOf('AWS::Lambda::Function', { FunctionName: `millrace-prod-${name}` });

    const mappings = deployed.template.findResources('AWS::Lambda::EventSourceMapping', {
      Properties: { FunctionName: { Ref: lambda } },
    });

    expect(Object.values(mappings).map(({ Properties }) => Properties)).toEqual([
      expect.objectContaining({
        BatchSize: batch,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ScalingConfig: { MaximumConcurrency: concurrency },
        EventSourceArn: deployed.arnOf('AWS::SQS::Queue', { QueueName: `millrace-prod-${name}` }),
      }),
    ]);
  });

  it('allows its function to read its own queue, write its own log and read one secret', () => {
    const statements = deployed.statementsOf(`millrace-prod-${name}`);

    expect(statements).toEqual([
      {
        Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        Effect: 'Allow',
        Resource: deployed.arnOf('AWS::Logs::LogGroup', { LogGroupName: `/aws/lambda/millrace-prod-${name}` }),
      },
      {
        Action: ['secretsmanager:DescribeSecret', 'secretsmanager:GetSecretValue'],
        Effect: 'Allow',
        Resource: EXISTING.databaseRuntimeSecret,
      },
      {
        Action: [
          'sqs:ChangeMessageVisibility',
          'sqs:DeleteMessage',
          'sqs:GetQueueAttributes',
          'sqs:GetQueueUrl',
          'sqs:ReceiveMessage',
        ],
        Effect: 'Allow',
        Resource: deployed.arnOf('AWS::SQS::Queue', { QueueName: `millrace-prod-${name}` }),
      },
    ]);
  });

  it('keeps its log for a month', () => {
    const logGroup = deployed.find('AWS::Logs::LogGroup', 'LogGroupName', `/aws/lambda/millrace-prod-${name}`);

    expect(logGroup).toMatchObject({ RetentionInDays: 30 });
  });
});

it('sends the log lines that report the end of a process of each handler, and no others, to the dispatcher', () => {
  const dispatcher = deployed.arnOf('AWS::Lambda::Function', { FunctionName: 'millrace-prod-dispatcher' });

  const filters = deployed.all('AWS::Logs::SubscriptionFilter').map(({ Properties }) => Properties);

  expect(filters).toEqual(
    ['make_thumbnail', 'send_reminder'].map((name) => ({
      DestinationArn: dispatcher,
      FilterPattern:
        '?"Runtime exited" ?"Task timed out after" ?"Error Type: Runtime.OutOfMemory" ?"JavaScript heap out of memory"',
      LogGroupName: {
        Ref: deployed.idOf('AWS::Logs::LogGroup', { LogGroupName: `/aws/lambda/millrace-prod-${name}` }),
      },
    })),
  );
  const permissions = deployed.all('AWS::Lambda::Permission').map(({ Properties }) => Properties);
  expect(permissions.filter(({ Principal }) => Principal === 'logs.amazonaws.com')).toMatchObject([
    { Action: 'lambda:InvokeFunction', FunctionName: dispatcher, SourceAccount: { Ref: 'AWS::AccountId' } },
  ]);
  const late = deployed.all('AWS::Logs::SubscriptionFilter').map(({ DependsOn }) => DependsOn);
  const permission = deployed.idOf('AWS::Lambda::Permission', { Principal: 'logs.amazonaws.com' });
  expect(late.every((needed = []) => needed.includes(permission))).toBe(true);
});

it('reserves concurrency for the dispatcher alone, since the limit of this database is unknown', () => {
  const functions = deployed.all('AWS::Lambda::Function').map(({ Properties }) => Properties);
  const reserved = functions.filter((one) => one.ReservedConcurrentExecutions !== undefined);

  expect(reserved).toMatchObject([{ FunctionName: 'millrace-prod-dispatcher', ReservedConcurrentExecutions: 5 }]);
});
