import { DeleteQueueCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import type { DeployedStage, DeployedWorld } from './deployed-world.ts';

const set = ({ sqs }: DeployedWorld, QueueUrl: string, Attributes: Record<string, string>) =>
  sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }));

type Change = (stage: DeployedStage, world: DeployedWorld) => unknown;

/** What somebody changed by hand, and the sentence that names it. */
export const DIFFERENCES: readonly (readonly [what: string, change: Change, said: (stage: DeployedStage) => string])[] =
  [
    [
      'a queue that is not there',
      ({ url }, world) => world.sqs.send(new DeleteQueueCommand({ QueueUrl: url })),
      ({ name }) => `queues: ${name} does not exist`,
    ],
    [
      'another visibility timeout',
      ({ url }, world) => set(world, url, { VisibilityTimeout: '30' }),
      ({ name }) => `queues: ${name}: the visibility timeout is 30, the code says 240`,
    ],
    [
      'another retention',
      ({ url }, world) => set(world, url, { MessageRetentionPeriod: '60' }),
      ({ name }) => `queues: ${name}: the retention is 60, the code says 345600`,
    ],
    [
      'no redrive policy',
      ({ url }, world) => set(world, url, { RedrivePolicy: '' }),
      ({ name }) =>
        `queues: ${name}: the dead-letter queue is not set, the code says ${name}-dlq, ` +
        `${name}: maxReceiveCount is not set, the code says 5`,
    ],
    [
      'a redrive policy that gives up sooner',
      ({ url, name }, world) =>
        set(world, url, {
          RedrivePolicy: JSON.stringify({
            deadLetterTargetArn: `arn:aws:sqs:us-east-1:000000000000:${name}-dlq`,
            maxReceiveCount: 1,
          }),
        }),
      ({ name }) => `queues: ${name}: maxReceiveCount is 1, the code says 5`,
    ],
    [
      'a dead-letter queue that is not there',
      ({ deadLetterUrl }, world) => world.sqs.send(new DeleteQueueCommand({ QueueUrl: deadLetterUrl })),
      ({ name }) => `dead-letter queues: ${name}-dlq does not exist`,
    ],
    [
      'a dead-letter queue that forgets sooner',
      ({ deadLetterUrl }, world) => set(world, deadLetterUrl, { MessageRetentionPeriod: '345600' }),
      ({ name }) => `dead-letter queues: ${name}-dlq: the retention is 345600, the code says 1209600`,
    ],
    [
      'a function that is not there',
      ({ name }, world) => world.aws.functions.delete(name),
      ({ name }) => `functions: ${name} does not exist`,
    ],
    [
      'a function with another timeout and memory',
      ({ name }, world) => world.aws.functions.set(name, { Timeout: 3, MemorySize: 128 }),
      ({ name }) =>
        `functions: ${name}: the timeout is 3, the code says 40, ${name}: the memory is 128, the code says 256`,
    ],
    [
      'a mapping that is not there',
      ({ name }, world) => world.aws.mappings.delete(name),
      ({ name }) => `mappings: ${name}: no mapping feeds it from its queue`,
    ],
    [
      'a mapping that is disabled',
      ({ mapping }) => Object.assign(mapping, { State: 'Disabled' }),
      ({ name }) => `mappings: ${name}: the mapping is Disabled, the code says Enabled`,
    ],
    [
      'a mapping with other batches',
      ({ mapping }) => Object.assign(mapping, { BatchSize: 1, MaximumBatchingWindowInSeconds: 20 }),
      ({ name }) =>
        `mappings: ${name}: the batch size is 1, the code says 10, ${name}: the batch window is 20, the code says 0`,
    ],
    [
      'a mapping without a limit',
      ({ mapping }) => Object.assign(mapping, { ScalingConfig: undefined }),
      ({ name }) => `mappings: ${name}: the maximum concurrency is not set, the code says 5`,
    ],
    [
      'a mapping that fails whole batches',
      ({ mapping }) => Object.assign(mapping, { FunctionResponseTypes: [] }),
      ({ name }) => `mappings: ${name}: partial responses is false, the code says true`,
    ],
    [
      'a second mapping',
      ({ name, mapping }, world) =>
        world.aws.mappings.set(name, [mapping, { ...mapping, EventSourceArn: 'arn:aws:sqs:x:0:other' }]),
      ({ name }) => `mappings: ${name} is also fed by arn:aws:sqs:x:0:other`,
    ],
    [
      'no dispatcher',
      ({ stage }, world) => world.aws.functions.delete(`millrace-${stage}-dispatcher`),
      ({ stage }) => `other functions: millrace-${stage}-dispatcher does not exist`,
    ],
    [
      'a dispatcher that is killed too soon',
      ({ stage }, world) => world.aws.functions.set(`millrace-${stage}-dispatcher`, { Timeout: 60, MemorySize: 256 }),
      ({ stage }) => `other functions: millrace-${stage}-dispatcher: the timeout is 60, the code says 150`,
    ],
    [
      'a mirror with another memory',
      ({ stage }, world) => world.aws.functions.set(`millrace-${stage}-dlq-mirror`, { Timeout: 60, MemorySize: 128 }),
      ({ stage }) => `other functions: millrace-${stage}-dlq-mirror: the memory is 128, the code says 256`,
    ],
    [
      'an API that outlives its gateway',
      ({ stage }, world) => world.aws.functions.set(`millrace-${stage}-api`, { Timeout: 60, MemorySize: 256 }),
      ({ stage }) => `other functions: millrace-${stage}-api: the timeout is 60, the code says 29`,
    ],
    [
      'a schedule that is not there',
      ({ stage }, world) => world.aws.schedules.delete(`millrace-${stage}-dlq-mirror`),
      ({ stage }) => `schedules: millrace-${stage}-dlq-mirror does not exist`,
    ],
    [
      'a schedule that is disabled, slower and of another function',
      ({ stage }, world) =>
        world.aws.schedules.set(`millrace-${stage}-dispatcher`, {
          ScheduleExpression: 'rate(5 minutes)',
          State: 'DISABLED',
          Target: { Arn: 'arn:aws:lambda:us-east-1:000000000000:function:other' },
        }),
      ({ stage }) => {
        const name = `millrace-${stage}-dispatcher`;
        return (
          `schedules: ${name}: it is disabled, the code says enabled, ` +
          `${name}: the rate is rate(5 minutes), the code says rate(1 minute), ` +
          `${name}: what it wakes is other, the code says ${name}`
        );
      },
    ],
    [
      'a registry of other numbers',
      (_stage, { database }) =>
        database.pool.query(`update millrace.handlers set timeout_seconds = 7 where job_type = 'send_reminder'`),
      () => 'registry: send_reminder: timeout_seconds is 7, the code says 30',
    ],
    [
      'a registry of another retry policy',
      (_stage, { database }) =>
        database.pool.query(
          `update millrace.handlers set retry_policy = retry_policy || '{"jitter": 0.75}' where job_type = 'make_thumbnail'`,
        ),
      () =>
        'registry: make_thumbnail: the retry policy is ' +
        '{"delays":[5,60,300,1800,7200],"jitter":0.75,"kind":"schedule"}, the code says ' +
        '{"delays":[5,60,300,1800,7200],"jitter":0,"kind":"schedule"}',
    ],
    [
      'a registry that lacks a handler',
      (_stage, { database }) => database.pool.query(`delete from millrace.handlers where job_type = 'send_reminder'`),
      () => 'registry: send_reminder is in the code and not registered',
    ],
    [
      'a registry with a handler too many',
      (_stage, { database }) =>
        database.pool.query(`update millrace.handlers set routing_key = 'old' where job_type = 'send_reminder'`),
      () =>
        'registry: send_reminder is in the code and not registered, send_reminder.old is registered and not in the code',
    ],
  ];
