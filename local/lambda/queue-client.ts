import {
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SQSClient,
} from '@aws-sdk/client-sqs';

export interface QueueClient {
  receive(queueUrl: string, most: number, waitSeconds: number, signal: AbortSignal): Promise<Message[]>;
  /** At most ten receipt handles; returns those that were refused by no fault of ours, to be tried again. */
  remove(queueUrl: string, receiptHandles: readonly string[]): Promise<string[]>;
  /** The queue's visibility timeout. */
  visibilityMs(queueUrl: string): Promise<number>;
  close(): void;
}

/** What a mapping needs of SQS. It waits and tries again by its own rules, so the SDK does not. */
export function openQueueClient(endpoint: string, region: string): QueueClient {
  const sqs = new SQSClient({
    endpoint,
    region,
    useQueueUrlAsEndpoint: false,
    maxAttempts: 1,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    requestHandler: {
      connectionTimeout: 2_000,
      // Longer than the longest poll. By default it only warns, and a hung server would hold a lane for ever.
      requestTimeout: 30_000,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets: 2_000 },
    },
  });
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
