import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { type SqsEmulator, startSqs } from '../../../local/sqs/server.ts';

export interface QueueFixture {
  readonly endpoint: string;
  readonly client: SQSClient;
  readonly url: string;
  readonly arn: string;
  send(body: string): Promise<void>;
  /** Sends at most ten messages. */
  sendBatch(bodies: readonly string[]): Promise<void>;
  depth(): Promise<{ visible: number; inFlight: number }>;
  setVisibility(seconds: number): Promise<void>;
  stop(): Promise<void>;
  /** Starts the server again on the same port, with its messages. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export async function openQueue(): Promise<QueueFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'queue-'));
  let server: SqsEmulator = await startSqs({ dataFile: join(folder, 'sqs.db') });
  const { endpoint, port } = server;
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new SQSClient({ endpoint, region: 'us-east-1', credentials });
  const { QueueUrl = '' } = await client.send(new CreateQueueCommand({ QueueName: 'q' }));
  return {
    endpoint,
    client,
    url: QueueUrl,
    arn: 'arn:aws:sqs:us-east-1:000000000000:q',
    async send(MessageBody) {
      await client.send(new SendMessageCommand({ QueueUrl, MessageBody }));
    },
    async sendBatch(bodies) {
      const Entries = bodies.map((MessageBody, index) => ({ Id: String(index), MessageBody }));
      await client.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
    },
    async depth() {
      const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }));
      return {
        visible: Number(Attributes?.ApproximateNumberOfMessages),
        inFlight: Number(Attributes?.ApproximateNumberOfMessagesNotVisible),
      };
    },
    async setVisibility(seconds) {
      const Attributes = { VisibilityTimeout: String(seconds) };
      await client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }));
    },
    stop: () => server.close(),
    async start() {
      server = await startSqs({ port, dataFile: join(folder, 'sqs.db') });
    },
    async close() {
      client.destroy();
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}
