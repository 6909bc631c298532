import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { FunctionSpec, MappingSpec, RunnerEvent } from '../../../local/lambda/specs.ts';
import { startSqs } from '../../../local/sqs/server.ts';
import { openRunner } from './runner-fixture.ts';

/** Longer than the start of a process on a loaded machine, and short enough for a test to wait for. */
export const VISIBILITY_SECONDS = 10;

export interface EffectsOptions {
  /** Body of the handler; `first` is true at the first receive of the messages. */
  readonly body?: string;
  /** A whole bundle instead of a body. */
  readonly source?: string;
  readonly spec?: Partial<FunctionSpec>;
  readonly mapping?: Partial<MappingSpec>;
  readonly visibilitySeconds?: number;
  /** Absent: the queue has no dead-letter queue. */
  readonly maxReceiveCount?: number;
  /** Creates the queues instead of the two settings above. */
  readonly createQueues?: (sqs: SQSClient) => Promise<Queues>;
}

interface Queues {
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
}

export interface Seen {
  readonly body: string;
  /** ApproximateReceiveCount. */
  readonly receives: number;
  /** Milliseconds since the first receive. */
  readonly age: number;
  readonly pid: number;
}

/** A queue, a function, and a mapping between them that `map` starts. */
export interface Effects {
  readonly events: RunnerEvent[];
  /** Sends messages, in requests of ten. */
  send(bodies: readonly string[]): Promise<void>;
  /** Adds the mapping and returns its UUID. */
  map(): string;
  /** The messages that the function received, in the order of the invocations. */
  seen(): Seen[];
  /** The number of messages of each invocation. */
  batches(): number[];
  depth(): Promise<{ visible: number; inFlight: number }>;
  /** At most ten messages of the dead-letter queue, without hiding them. */
  dead(): Promise<Message[]>;
  /** The number of messages in the dead-letter queue. */
  deadCount(): Promise<number>;
  environments(): number[];
  readonly endpoint: string;
  close(): Promise<void>;
}

const PROLOGUE = `
  const first = event.Records[0].attributes.ApproximateReceiveCount === '1';
  const seen = event.Records.map(({ body, attributes }) => ({
    body,
    receives: Number(attributes.ApproximateReceiveCount),
    age: Date.now() - Number(attributes.ApproximateFirstReceiveTimestamp),
    pid: process.pid,
  }));
  process.stdout.write('seen ' + JSON.stringify(seen) + '\\n');`;

/** Source of a bundle whose handler prints the messages it received, then runs `body`. */
export const reportingHandler = (body: string): string =>
  `export async function handler(event) { ${PROLOGUE} ${body} }`;

export async function openEffects(options: EffectsOptions): Promise<Effects> {
  const { body = '', source = reportingHandler(body), visibilitySeconds = VISIBILITY_SECONDS } = options;
  const server = await startSqs({});
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const sqs = new SQSClient({ endpoint: server.endpoint, region: 'us-east-1', credentials });
  const { queueUrl, deadLetterQueueUrl } = await (options.createQueues?.(sqs) ??
    createQueues(sqs, visibilitySeconds, options.maxReceiveCount));
  const fixture = await openRunner(server.endpoint);
  await fixture.add('f', source, options.spec);
  const reported = () =>
    fixture
      .lines()
      .filter((line) => line.startsWith('seen '))
      .map((line) => JSON.parse(line.slice(5)) as Seen[]);
  return {
    events: fixture.events,
    endpoint: fixture.runner.endpoint,
    async send(bodies) {
      for (let from = 0; from < bodies.length; from += 10) {
        const batch = bodies.slice(from, from + 10);
        const Entries = batch.map((MessageBody, index) => ({ Id: String(index), MessageBody }));
        await sqs.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
      }
    },
    map: () =>
      fixture.runner.addMapping({
        ...{ functionName: 'f', queueUrl, queueArn: arnOf(queueUrl) },
        ...{ batchSize: 10, windowSeconds: 0, maximumConcurrency: 2 },
        ...options.mapping,
      }),
    seen: () => reported().flat(),
    batches: () => reported().map((batch) => batch.length),
    depth: () => depthOf(sqs, queueUrl),
    dead: () => peek(sqs, deadLetterQueueUrl),
    deadCount: async () => (await depthOf(sqs, deadLetterQueueUrl)).visible,
    environments: () => fixture.runner.environments('f'),
    async close() {
      await fixture.close();
      sqs.destroy();
      await server.close();
    },
  };
}

async function createQueues(sqs: SQSClient, visibilitySeconds: number, maxReceiveCount?: number): Promise<Queues> {
  const { QueueUrl: deadLetterQueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: 'q-dlq' }));
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arnOf(deadLetterQueueUrl), maxReceiveCount });
  const Attributes = {
    VisibilityTimeout: String(visibilitySeconds),
    ...(maxReceiveCount !== undefined && { RedrivePolicy }),
  };
  const { QueueUrl: queueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: 'q', Attributes }));
  return { queueUrl, deadLetterQueueUrl };
}

const arnOf = (queueUrl: string): string => `arn:aws:sqs:us-east-1:000000000000:${queueUrl.split('/').at(-1)}`;

async function depthOf(sqs: SQSClient, QueueUrl: string) {
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }));
  return {
    visible: Number(Attributes?.ApproximateNumberOfMessages),
    inFlight: Number(Attributes?.ApproximateNumberOfMessagesNotVisible),
  };
}

async function peek(sqs: SQSClient, QueueUrl: string): Promise<Message[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      ...{ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 0, MessageSystemAttributeNames: ['All'] },
    }),
  );
  return Messages;
}
