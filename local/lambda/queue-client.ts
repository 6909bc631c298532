import {
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
} from '@aws-sdk/client-sqs';
import { openSqs } from '../../core/aws/clients.ts';
import { CREDENTIALS } from '../state.ts';

export interface QueueClient {
  receive(queueUrl: string, most: number, waitSeconds: number, signal: AbortSignal): Promise<Message[]>;
  /** Deletes at most ten messages; returns the receipt handles to retry, which failed by an error of the server. */
  remove(queueUrl: string, receiptHandles: readonly string[]): Promise<string[]>;
  /** Returns the queue's visibility timeout. */
  visibilityMs(queueUrl: string): Promise<number>;
  close(): void;
}

/** Opens the SQS client of a mapping, without retries by the SDK: the mapping has its own. */
export function openQueueClient(endpoint: string, region: string): QueueClient {
  const requestHandler = {
    connectionTimeout: 2_000,
    // Longer than the longest poll. By default the SDK only warns, and a hung server would block a lane permanently.
    requestTimeout: 30_000,
    throwOnRequestTimeout: true,
    httpAgent: { maxSockets: 2_000 },
  };
  const sqs = openSqs({ maxAttempts: 1, requestHandler }, { endpoint, region, credentials: CREDENTIALS });
  return {
    async receive(QueueUrl, MaxNumberOfMessages, WaitTimeSeconds, abortSignal) {
      const input: ReceiveMessageCommandInput = {
        QueueUrl,
        MaxNumberOfMessages,
        WaitTimeSeconds,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      };
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand(input), { abortSignal });
      return Messages;
    },
    async remove(QueueUrl, receiptHandles) {
      const Entries = receiptHandles.map((ReceiptHandle, index) => ({ Id: String(index), ReceiptHandle }));
      const { Failed = [] } = await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
      return Failed.filter(({ SenderFault }) => !SenderFault).flatMap(({ Id }) => receiptHandles[Number(Id)] ?? []);
    },
    async visibilityMs(QueueUrl) {
      const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['VisibilityTimeout'] });
      return Number((await sqs.send(command)).Attributes?.VisibilityTimeout) * 1000;
    },
    close: () => sqs.destroy(),
  };
}
