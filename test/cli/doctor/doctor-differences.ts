import { DeleteQueueCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import type { DeployedStage, DeployedWorld } from './deployed-world.ts';

const set = ({ sqs }: DeployedWorld, QueueUrl: string, Attributes: Record<string, string>) =>
  sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }));

type Change = (stage: DeployedStage, world: DeployedWorld) => unknown;

/** A difference from the code, how to make it, and the sentence that reports it. */
export const DIFFERENCES: readonly (readonly [what: string, change: Change, said: (stage: DeployedStage) => string])[] =
  [
    [
      'no queue',
      ({ url }, world) => world.sqs.send(new DeleteQueueCommand({ QueueUrl: url })),
      ({ name }) => `queues: ${name} does not exist`,
    ],
    [
      'another visibility timeout',
      ({ url }, world) => set(world, url, { VisibilityTimeout: '30' }),
      ({ name }) => `queues: ${name}: the visibility timeout is 30, but 240 in the code`,
    ],
    [
      'another retention',
      ({ url }, world) => set(world, url, { MessageRetentionPeriod: '60' }),
      ({ name }) => `queues: ${name}: the retention is 60, but 345600 in the code`,
    ],
    [
      'no redrive policy',
      ({ url }, world) => set(world, url, { RedrivePolicy: '' }),
      ({ name }) =>
        `queues: ${name}: the dead-letter queue is not set, but ${name}-dlq in the code, ` +
        `${name}: maxReceiveCount is not set, but 5 in the code`,
    ],
    [
      'a redrive policy with fewer receives',
      ({ url, name }, world) =>
        set(world, url, {
          RedrivePolicy: JSON.stringify({
            deadLetterTargetArn: `arn:aws:sqs:us-east-1:000000000000:${name}-dlq`,
            maxReceiveCount: 1,
          }),
        }),
      ({ name }) => `queues: ${name}: maxReceiveCount is 1, but 5 in the code`,
    ],
    [
      'no dead-letter queue',
      ({ deadLetterUrl }, world) => world.sqs.send(new DeleteQueueCommand({ QueueUrl: deadLetterUrl })),
      ({ name }) => `dead-letter queues: ${name}-dlq does not exist`,
    ],
    [
      'a dead-letter queue with a shorter retention',
      ({ deadLetterUrl }, world) => set(world, deadLetterUrl, { MessageRetentionPeriod: '345600' }),
      ({ name }) => `dead-letter queues: ${name}-dlq: the retention is 345600, but 1209600 in the code`,
    ],
    [
      'no function',
      ({ name }, world) => world.aws.functions.delete(name),
      ({ name }) => `functions: ${name} does not exist`,
    ],
    [
      'a function with another timeout and memory',
      ({ name }, world) => world.aws.functions.set(name, { Timeout: 3, MemorySize: 128 }),
      ({ name }) =>
        `functions: ${name}: the timeout is 3, but 40 in the code, ${name}: the memory is 128, but 256 in the code`,
    ],
    [
      'no mapping',
      ({ name }, world) => world.aws.mappings.delete(name),
      ({ name }) => `mappings: ${name} has no mapping from its queue`,
    ],
    [
      'a disabled mapping',
      ({ mapping }) => Object.assign(mapping, { State: 'Disabled' }),
      ({ name }) => `mappings: ${name}: the mapping is Disabled, but Enabled in the code`,
    ],
    [
      'a mapping with another batch size and window',
      ({ mapping }) => Object.assign(mapping, { BatchSize: 1, MaximumBatchingWindowInSeconds: 20 }),
      ({ name }) =>
        `mappings: ${name}: the batch size is 1, but 10 in the code, ${name}: the batch window is 20, but 0 in the code`,
    ],
    [
      'a mapping without a maximum concurrency',
      ({ mapping }) => Object.assign(mapping, { ScalingConfig: undefined }),
      ({ name }) => `mappings: ${name}: the maximum concurrency is not set, but 5 in the code`,
    ],
    [
      'a mapping without partial batch responses',
      ({ mapping }) => Object.assign(mapping, { FunctionResponseTypes: [] }),
      ({ name }) => `mappings: ${name}: ReportBatchItemFailures is false, but true in the code`,
    ],
    [
      'a second mapping',
      ({ name, mapping }, world) =>
        world.aws.mappings.set(name, [mapping, { ...mapping, EventSourceArn: 'arn:aws:sqs:x:0:other' }]),
      ({ name }) => `mappings: ${name} has another mapping from arn:aws:sqs:x:0:other`,
    ],
    [
      'no dispatcher',
      ({ stage }, world) => world.aws.functions.delete(`millrace-${stage}-dispatcher`),
      ({ stage }) => `other functions: millrace-${stage}-dispatcher does not exist`,
    ],
    [
      'a dispatcher with a shorter timeout',
      ({ stage }, world) => world.aws.functions.set(`millrace-${stage}-dispatcher`, { Timeout: 60, MemorySize: 256 }),
      ({ stage }) => `other functions: millrace-${stage}-dispatcher: the timeout is 60, but 150 in the code`,
    ],
    [
      'a mirror with another memory',
      ({ stage }, world) => world.aws.functions.set(`millrace-${stage}-dlq-mirror`, { Timeout: 60, MemorySize: 128 }),
      ({ stage }) => `other functions: millrace-${stage}-dlq-mirror: the memory is 128, but 256 in the code`,
    ],
    [
      'an API with a longer timeout than its gateway',
      ({ stage }, world) => world.aws.functions.set(`millrace-${stage}-api`, { Timeout: 60, MemorySize: 256 }),
      ({ stage }) => `other functions: millrace-${stage}-api: the timeout is 60, but 29 in the code`,
    ],
    [
      'no schedule',
      ({ stage }, world) => world.aws.schedules.delete(`millrace-${stage}-dlq-mirror`),
      ({ stage }) => `schedules: millrace-${stage}-dlq-mirror does not exist`,
    ],
    [
      'a disabled, slower schedule for another function',
      ({ stage }, world) =>
        world.aws.schedules.set(`millrace-${stage}-dispatcher`, {
          ScheduleExpression: 'rate(5 minutes)',
          State: 'DISABLED',
          Target: { Arn: 'arn:aws:lambda:us-east-1:000000000000:function:other' },
        }),
      ({ stage }) => {
        const name = `millrace-${stage}-dispatcher`;
        return (
          `schedules: ${name}: the state is disabled, but enabled in the code, ` +
          `${name}: the rate is rate(5 minutes), but rate(1 minute) in the code, ` +
          `${name}: the target is other, but ${name} in the code`
        );
      },
    ],
    [
      'other numbers in the registry',
      (_stage, { database }) =>
        database.pool.query(`update millrace.handlers set timeout_seconds = 7 where job_type = 'send_reminder'`),
      () => 'registry: send_reminder: timeout_seconds is 7, but 30 in the code',
    ],
    [
      'another retry policy in the registry',
      (_stage, { database }) =>
        database.pool.query(
          `update millrace.handlers set retry_policy = retry_policy || '{"jitter": 0.75}' where job_type = 'make_thumbnail'`,
        ),
      () =>
        'registry: make_thumbnail: the retry policy is ' +
        '{"delays":[5,60,300,1800,7200],"jitter":0.75,"kind":"schedule"}, but ' +
        '{"delays":[5,60,300,1800,7200],"jitter":0,"kind":"schedule"} in the code',
    ],
    [
      'a registry without a handler',
      (_stage, { database }) => database.pool.query(`delete from millrace.handlers where job_type = 'send_reminder'`),
      () => 'registry: send_reminder is in the code but not registered',
    ],
    [
      'a registry with an additional handler',
      (_stage, { database }) =>
        database.pool.query(`update millrace.handlers set routing_key = 'old' where job_type = 'send_reminder'`),
      () =>
        'registry: send_reminder is in the code but not registered, send_reminder.old is registered but not in the code',
    ],
  ];
