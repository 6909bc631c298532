import {
  InvokeCommand,
  LambdaClient,
  ListEventSourceMappingsCommand,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda';
import { type Message, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import { eventually } from './eventually.ts';
import type { RunningStack } from './project.ts';

const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
const region = 'us-east-1';

/** Returns an SQS client with the address of dev.json. */
export function openSqs({ state }: RunningStack): SQSClient {
  return new SQSClient({ endpoint: state.sqsEndpoint, region, credentials });
}

/** Returns a Lambda client with the address and the access key of dev.json. */
export function openLambda({ state }: RunningStack): LambdaClient {
  const ofLambda = { ...credentials, accessKeyId: state.lambdaAccessKeyId };
  return new LambdaClient({ endpoint: state.lambdaEndpoint, region, credentials: ofLambda });
}

/** Runs one round of the dispatcher. */
export function nudge(stack: RunningStack): Promise<void> {
  return invoke(stack, 'millrace-local-dispatcher', { nudge: true });
}

/** Runs the mirror once. */
export function mirrorNow(stack: RunningStack): Promise<void> {
  return invoke(stack, 'millrace-local-dlq-mirror', {});
}

async function invoke(stack: RunningStack, FunctionName: string, event: object): Promise<void> {
  const client = openLambda(stack);
  const Payload = Buffer.from(JSON.stringify(event));
  const { FunctionError } = await client.send(new InvokeCommand({ FunctionName, Payload }));
  client.destroy();
  expect(FunctionError).toBeUndefined();
}

/** Enables or disables the mapping of a handler, and waits until it is done. */
export async function enableMapping(stack: RunningStack, jobType: string, enabled: boolean): Promise<void> {
  const client = openLambda(stack);
  const FunctionName = `millrace-local-${jobType}`;
  const read = async () => {
    const { EventSourceMappings } = await client.send(new ListEventSourceMappingsCommand({ FunctionName }));
    return EventSourceMappings?.[0];
  };
  await client.send(new UpdateEventSourceMappingCommand({ UUID: (await read())?.UUID, Enabled: enabled }));
  // A receive in progress still receives messages.
  await eventually(async () => expect((await read())?.State).toBe(enabled ? 'Enabled' : 'Disabled'), {
    timeout: 60_000,
  });
  client.destroy();
}

export interface Row {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly result: unknown;
}

/** Inserts a job with plain SQL, as an application would; returns its id. */
export async function insertJob(
  stack: RunningStack,
  jobType: string,
  payload: unknown,
  maxAttempts?: number,
): Promise<string> {
  const text =
    maxAttempts === undefined
      ? 'insert into millrace.jobs (job_type, payload) values ($1, $2) returning id::text'
      : 'insert into millrace.jobs (job_type, payload, max_attempts) values ($1, $2, $3) returning id::text';
  const values = [jobType, JSON.stringify(payload), ...(maxAttempts === undefined ? [] : [maxAttempts])];
  const [row] = await stack.query<{ id: string }>(text, values);
  return row?.id as string;
}

export async function readJob(stack: RunningStack, id: string): Promise<Row> {
  const [row] = await stack.query<Row>(
    'select id::text, status, attempts, last_error, result from millrace.jobs where id = $1',
    [id],
  );
  return row as Row;
}

/** Waits until a job matches; an error contains the output of the stack. */
export function untilJob(stack: RunningStack, id: string, wanted: Partial<Row>, timeout = 120_000): Promise<Row> {
  return eventually(
    async () => {
      const job = await readJob(stack, id);
      expect(job, stack.output()).toMatchObject(wanted);
      return job;
    },
    { timeout, interval: 50 },
  );
}

export interface DeadLetterRow {
  readonly status: string;
  readonly last_error: string;
  readonly error_stacktrace: string;
}

export async function readDeadLetters(stack: RunningStack, id: string): Promise<DeadLetterRow[]> {
  return stack.query<DeadLetterRow>(
    `select status, last_error, error_stacktrace from millrace.dead_letters
       where job_id = $1 order by died_at`,
    [id],
  );
}

/** Returns the message of a job in the dead-letter queue of its handler, and leaves the message visible. */
export async function findDeadMessage(stack: RunningStack, jobType: string, id: string): Promise<Message> {
  const handler = stack.state.handlers.find((entry) => entry.jobType === jobType);
  const client = openSqs(stack);
  try {
    return await eventually(
      async () => {
        const { Messages = [] } = await client.send(
          new ReceiveMessageCommand({
            QueueUrl: handler?.deadLetterQueueUrl,
            MaxNumberOfMessages: 10,
            VisibilityTimeout: 0,
            MessageSystemAttributeNames: ['All'],
          }),
        );
        const found = Messages.find(({ Body }) => JSON.parse(Body ?? '{}').job === id);
        expect(found, stack.output()).toBeDefined();
        return found as Message;
      },
      { interval: 50 },
    );
  } finally {
    client.destroy();
  }
}
