import {
  GetFunctionConfigurationCommand,
  type LambdaClient,
  ListEventSourceMappingsCommand,
  ResourceNotFoundException as NoFunction,
} from '@aws-sdk/client-lambda';
import {
  GetScheduleCommand,
  ResourceNotFoundException as NoSchedule,
  type SchedulerClient,
} from '@aws-sdk/client-scheduler';
import { GetQueueAttributesCommand, GetQueueUrlCommand, QueueDoesNotExist, type SQSClient } from '@aws-sdk/client-sqs';
import { TIMEOUTS } from './batches.ts';
import { type AwsAddress, openLambda, openScheduler, openSqs } from './clients.ts';

/** The settings of a deployed queue; times are in seconds. */
export interface FoundQueue {
  readonly arn: string;
  readonly retention: number;
  readonly visibilityTimeout: number;
  /** Redrive policy; undefined without one. */
  readonly redrive: { readonly deadLetterArn: string; readonly maxReceiveCount: number } | undefined;
}

export interface FoundFunction {
  readonly timeout: number;
  readonly memoryMb: number;
  /** What only functions on AWS have; undefined on one machine. */
  readonly own: FoundOwn | undefined;
}

export interface FoundOwn {
  /** Size of the temporary storage in MB. */
  readonly ephemeralStorage: number;
  readonly tracing: boolean;
  readonly layers: readonly string[];
}

export interface FoundMapping {
  readonly queueArn: string;
  /** The alias that it invokes; undefined for the function itself. */
  readonly alias: string | undefined;
  /** `Enabled`, `Disabled`, or a transition such as `Updating`. */
  readonly state: string;
  readonly batchSize: number;
  readonly batchWindow: number;
  /** Maximum concurrency; undefined without a limit. */
  readonly concurrency: number | undefined;
  readonly partialResponses: boolean;
}

export interface FoundSchedule {
  readonly expression: string;
  readonly enabled: boolean;
  /** ARN of the function that it invokes. */
  readonly target: string;
}

/** Reads deployed resources; undefined for a missing one. Every call throws the errors of the SDK. */
export interface Deployed {
  queue(name: string): Promise<FoundQueue | undefined>;
  function(name: string): Promise<FoundFunction | undefined>;
  mappings(functionName: string): Promise<FoundMapping[]>;
  schedule(group: string, name: string): Promise<FoundSchedule | undefined>;
  /** Returns the errors of the SDK for the settings without which it makes no call. */
  missingSettings(): Promise<{ readonly region: unknown; readonly credentials: unknown }>;
  close(): void;
}

/** The addresses of services outside AWS, which have no EventBridge Scheduler. */
export interface DeployedAddress {
  readonly sqs: AwsAddress;
  readonly lambda: AwsAddress;
}

export function openDeployed(address?: DeployedAddress): Deployed {
  const sqs = openSqs({ requestHandler: TIMEOUTS }, address?.sqs);
  const lambda = openLambda({ requestHandler: TIMEOUTS }, address?.lambda);
  const scheduler = openScheduler({ requestHandler: TIMEOUTS });
  return {
    queue: (name) => unlessMissing(QueueDoesNotExist, () => readQueue(sqs, name)),
    function: (name) => unlessMissing(NoFunction, () => readFunction(lambda, name)),
    mappings: async (name) => (await unlessMissing(NoFunction, () => readMappings(lambda, name))) ?? [],
    schedule: (group, name) => unlessMissing(NoSchedule, () => readSchedule(scheduler, group, name)),
    missingSettings: async () => ({
      region: await errorOf(sqs.config.region),
      credentials: await errorOf(sqs.config.credentials),
    }),
    close: () => {
      for (const client of [sqs, lambda, scheduler]) client.destroy();
    },
  };
}

async function errorOf(read: () => Promise<unknown>): Promise<unknown> {
  return read().then(
    () => undefined,
    (error: unknown) => error,
  );
}

type Missing = abstract new (...args: never[]) => Error;

async function unlessMissing<T>(missing: Missing, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof missing) return undefined;
    throw error;
  }
}

async function readQueue(sqs: SQSClient, name: string): Promise<FoundQueue> {
  const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: name }));
  const { Attributes = {} } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }));
  const { deadLetterTargetArn, maxReceiveCount } = JSON.parse(Attributes.RedrivePolicy ?? '{}');
  return {
    arn: Attributes.QueueArn ?? '',
    retention: Number(Attributes.MessageRetentionPeriod),
    visibilityTimeout: Number(Attributes.VisibilityTimeout),
    redrive:
      deadLetterTargetArn === undefined
        ? undefined
        : { deadLetterArn: deadLetterTargetArn, maxReceiveCount: Number(maxReceiveCount) },
  };
}

async function readFunction(lambda: LambdaClient, name: string): Promise<FoundFunction> {
  const found = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName: name }));
  return {
    timeout: Number(found.Timeout),
    memoryMb: Number(found.MemorySize),
    own: found.EphemeralStorage && {
      ephemeralStorage: Number(found.EphemeralStorage.Size),
      tracing: found.TracingConfig?.Mode === 'Active',
      layers: (found.Layers ?? []).map(({ Arn = '' }) => Arn),
    },
  };
}

async function readMappings(lambda: LambdaClient, name: string): Promise<FoundMapping[]> {
  const { EventSourceMappings = [] } = await lambda.send(new ListEventSourceMappingsCommand({ FunctionName: name }));
  return EventSourceMappings.map((mapping) => ({
    queueArn: mapping.EventSourceArn ?? '',
    // arn:aws:lambda:<region>:<account>:function:<name>:<alias>
    alias: mapping.FunctionArn?.split(':')[7],
    state: mapping.State ?? '',
    batchSize: Number(mapping.BatchSize),
    batchWindow: mapping.MaximumBatchingWindowInSeconds ?? 0,
    concurrency: mapping.ScalingConfig?.MaximumConcurrency,
    partialResponses: (mapping.FunctionResponseTypes ?? []).includes('ReportBatchItemFailures'),
  }));
}

async function readSchedule(scheduler: SchedulerClient, group: string, name: string): Promise<FoundSchedule> {
  const command = new GetScheduleCommand({ GroupName: group, Name: name });
  const { ScheduleExpression, State, Target } = await scheduler.send(command);
  return { expression: ScheduleExpression ?? '', enabled: State === 'ENABLED', target: Target?.Arn ?? '' };
}
