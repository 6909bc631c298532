import { randomBytes } from 'node:crypto';
import { type Message, type ReceiveMessageCommandInput, SQS } from '@aws-sdk/client-sqs';
import { AwsQueryProtocol } from '@aws-sdk/core/protocols';
import { expect } from 'vitest';

/** One behaviour of SQS, tested with the unmodified SDK client. Each creates its own queues. */
export interface Behaviour {
  readonly name: string;
  readonly run: (world: World) => Promise<void>;
}

export interface World {
  /** Undefined for AWS itself. */
  readonly endpoint: string | undefined;
  readonly sqs: SQS;
  /** Returns a new, unique queue name. */
  name(): string;
  /** Creates a queue and returns its URL. */
  queue(attributes?: Record<string, string>): Promise<string>;
  fifo(attributes?: Record<string, string>): Promise<string>;
  arn(url: string): Promise<string>;
  /** Creates a queue whose messages move to a second one after `maxReceiveCount` receives. */
  pair(maxReceiveCount: number, visibilitySeconds?: number): Promise<Pair>;
  send(url: string, ...bodies: string[]): Promise<void>;
  /** Receives up to ten messages once, with every system attribute. */
  receive(url: string, options?: Partial<ReceiveMessageCommandInput>): Promise<Message[]>;
  bodies(url: string, options?: Partial<ReceiveMessageCommandInput>): Promise<string[]>;
  /** Returns the numbers of visible, in-flight and delayed messages. */
  depth(url: string): Promise<readonly [number, number, number]>;
  /** Ends the client; in a real account, deletes the created queues first. */
  close(): Promise<void>;
}

export interface Pair {
  readonly source: string;
  readonly dlq: string;
  readonly sourceArn: string;
  readonly dlqArn: string;
}

export type Protocol = 'json' | 'query';

function createClient(endpoint: string | undefined, protocol: Protocol): SQS {
  // A server that never answers must not hang the suite; no behaviour waits longer than 5 s.
  const patience = { maxAttempts: 1, requestHandler: { requestTimeout: 9000, throwOnRequestTimeout: true } };
  if (endpoint === undefined) return new SQS({ ...patience, maxAttempts: 3 });
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  // The SDK still contains the protocol that older SDKs used.
  const spoken = protocol === 'query' ? { protocol: AwsQueryProtocol } : {};
  return new SQS({ ...patience, ...spoken, endpoint, region: 'us-east-1', credentials });
}

export function createWorld(endpoint: string | undefined, protocol: Protocol = 'json'): World {
  const sqs = createClient(endpoint, protocol);
  const prefix = `q-${randomBytes(4).toString('hex')}-`;
  const name = () => `${prefix}${randomBytes(6).toString('hex')}`;
  const create = async (QueueName: string, Attributes: Record<string, string>) =>
    (await sqs.createQueue({ QueueName, Attributes })).QueueUrl!;
  const queue = (attributes: Record<string, string> = {}) => create(name(), attributes);
  const receive: World['receive'] = async (QueueUrl, options) =>
    (await sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10, MessageSystemAttributeNames: ['All'], ...options }))
      .Messages ?? [];
  const arn = async (QueueUrl: string) =>
    (await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ['QueueArn'] })).Attributes!.QueueArn!;
  return {
    endpoint,
    sqs,
    name,
    queue,
    arn,
    receive,
    fifo: (attributes = {}) => create(`${name()}.fifo`, { FifoQueue: 'true', ...attributes }),
    pair: async (maxReceiveCount, visibilitySeconds = 30) => {
      const dlq = await queue();
      const dlqArn = await arn(dlq);
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dlqArn, maxReceiveCount });
      const source = await queue({ VisibilityTimeout: String(visibilitySeconds), RedrivePolicy });
      return { source, dlq, dlqArn, sourceArn: await arn(source) };
    },
    send: async (QueueUrl, ...bodies) => {
      for (const MessageBody of bodies) await sqs.sendMessage({ QueueUrl, MessageBody });
    },
    bodies: async (url, options) => (await receive(url, options)).map((message) => message.Body!),
    depth: async (QueueUrl) => {
      const { Attributes } = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ['All'] });
      return [
        Number(Attributes!.ApproximateNumberOfMessages),
        Number(Attributes!.ApproximateNumberOfMessagesNotVisible),
        Number(Attributes!.ApproximateNumberOfMessagesDelayed),
      ];
    },
    close: async () => {
      if (endpoint === undefined) await deleteQueues(sqs, prefix);
      sqs.destroy();
    },
  };
}

async function deleteQueues(sqs: SQS, QueueNamePrefix: string): Promise<void> {
  const { QueueUrls } = await sqs.listQueues({ QueueNamePrefix });
  for (const QueueUrl of QueueUrls ?? []) await sqs.deleteQueue({ QueueUrl });
}

/**
 * Returns the error of a refused call, or undefined if it succeeds. `expect(call).rejects` would count as an assertion
 * of whichever behaviour runs at the time.
 */
export function refusal(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
}

/** Expects a refusal with one of these names, as the class of the SDK or as the older query code. */
export async function refused(call: Promise<unknown>, ...names: string[]): Promise<void> {
  const error = await refusal(call);
  expect(error, 'the call succeeded').toBeInstanceOf(Error);
  const { name, Error: query } = error as Error & { Error?: { Code?: string } };
  const seen = [name, query?.Code?.replace(/^AWS\.SimpleQueueService\./, '')];
  expect(
    seen.some((one) => one !== undefined && names.includes(one)),
    `refused as ${seen.join(' / ')}`,
  ).toBe(true);
}

/** Awaits a call; returns its result and its duration in milliseconds. */
export async function timed<T>(call: Promise<T>): Promise<{ result: T; ms: number }> {
  const start = performance.now();
  const result = await call;
  return { result, ms: performance.now() - start };
}

/** Fails when a poll that must end early lasts three quarters of the 20 seconds that it may wait. */
export function beforeItsEnd<T>(poll: Promise<T>): Promise<T> {
  const limit = pause(15).then(() => Promise.reject(new Error('the poll waited until its end')));
  return Promise.race([poll, limit]);
}

export function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

/** Repeats a request until its answer satisfies the condition, for at most `seconds`. */
export async function eventually<T>(
  call: () => Promise<T>,
  satisfies: (answer: T) => boolean,
  seconds = 60,
): Promise<T> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const answer = await call();
    if (satisfies(answer)) return answer;
    if (performance.now() > end) throw new Error(`Not within ${seconds} s; last answer: ${JSON.stringify(answer)}`);
    await pause(0.05);
  }
}
