import {
  CancelMessageMoveTaskCommand,
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  ListMessageMoveTasksCommand,
  type Message,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  type SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { DEAD_LETTER_RETENTION_SECONDS } from '../handler/timing.ts';
import { BATCH, chunks, inParallel, PARALLEL, TIMEOUTS } from './batches.ts';
import { type AwsAddress, openSqs } from './clients.ts';

/** A received message. */
export interface PeekedMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  /** SentTimestamp in milliseconds: the time of its send, or of its last move by a move task. */
  readonly sentAt: number;
}

export interface QueueState {
  readonly arn: string;
  /** Approximate number of its messages, including received ones. */
  readonly depth: number;
  /** Time for which it keeps a message after its send. */
  readonly retentionSeconds: number;
}

/** A move task of SQS, such as the AWS console starts for a redrive. */
export interface MoveTask {
  /** Task handle; undefined unless the task is running. */
  readonly handle: string | undefined;
  readonly status: 'RUNNING' | 'COMPLETED' | 'CANCELLING' | 'CANCELLED' | 'FAILED';
  readonly startedAt: Date;
  readonly moved: number;
  /** Number of messages at its start; undefined when SQS does not report it. */
  readonly toMove: number | undefined;
  readonly failureReason: string | undefined;
}

/** The operations of SQS on dead-letter queues. Every call throws the errors of the SDK. */
export interface DeadLetterQueues {
  /** Returns the state of a queue; undefined if it does not exist. */
  describe(queueUrl: string): Promise<QueueState | undefined>;
  /** Receives up to ten messages and hides them for `visibilitySeconds`. A long poll, so it may wait for a second. */
  peek(queueUrl: string, visibilitySeconds: number): Promise<PeekedMessage[]>;
  /** Makes messages visible at once. A message that fails becomes visible at its visibility timeout. */
  makeVisible(queueUrl: string, receiptHandles: readonly string[]): Promise<void>;
  /** Deletes messages. A message that fails becomes visible again. */
  remove(queueUrl: string, receiptHandles: readonly string[]): Promise<void>;
  /** Returns the last ten move tasks, the newest first. */
  moveTasks(queueArn: string): Promise<MoveTask[]>;
  /** Starts to move all messages to their source queues, `rate` (1 to 500) a second, and returns the task handle. */
  startMove(queueArn: string, rate?: number): Promise<string>;
  cancelMove(handle: string): Promise<void>;
  close(): void;
}

/** Opens a client. Without an address, the AWS SDK reads region, credentials and endpoint from the environment. */
export function openDeadLetterQueues(address?: AwsAddress): DeadLetterQueues {
  const client = openSqs({ requestHandler: TIMEOUTS }, address);
  return {
    describe: (queueUrl) => describe(client, queueUrl),
    peek: (queueUrl, visibilitySeconds) => peek(client, queueUrl, visibilitySeconds),
    makeVisible: (queueUrl, handles) =>
      eachBatch(handles, (entries) => {
        const Entries = entries.map((entry) => ({ ...entry, VisibilityTimeout: 0 }));
        return client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries }));
      }),
    remove: (queueUrl, handles) =>
      eachBatch(handles, (Entries) => client.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries }))),
    moveTasks: (queueArn) => moveTasks(client, queueArn),
    startMove: async (queueArn, rate) => {
      const command = new StartMessageMoveTaskCommand({ SourceArn: queueArn, MaxNumberOfMessagesPerSecond: rate });
      return (await client.send(command)).TaskHandle ?? '';
    },
    cancelMove: async (handle) => {
      await client.send(new CancelMessageMoveTaskCommand({ TaskHandle: handle }));
    },
    close: () => client.destroy(),
  };
}

async function describe(client: SQSClient, queueUrl: string): Promise<QueueState | undefined> {
  try {
    const { Attributes = {} } = await client.send(
      new GetQueueAttributesCommand({
        QueueUrl: queueUrl,
        AttributeNames: [
          'QueueArn',
          'ApproximateNumberOfMessages',
          'ApproximateNumberOfMessagesNotVisible',
          'MessageRetentionPeriod',
        ],
      }),
    );
    const visible = Number(Attributes.ApproximateNumberOfMessages ?? 0);
    return {
      arn: Attributes.QueueArn ?? '',
      depth: visible + Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
      // Not every server reports it.
      retentionSeconds: Number(Attributes.MessageRetentionPeriod ?? DEAD_LETTER_RETENTION_SECONDS),
    };
  } catch (error) {
    if (error instanceof QueueDoesNotExist) return undefined;
    throw error;
  }
}

async function peek(client: SQSClient, queueUrl: string, visibilitySeconds: number): Promise<PeekedMessage[]> {
  const { Messages = [] } = await client.send(
    new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: BATCH,
      VisibilityTimeout: visibilitySeconds,
      // A short poll queries a subset of the servers, and may miss messages.
      WaitTimeSeconds: 1,
      MessageSystemAttributeNames: ['SentTimestamp'],
    }),
  );
  return Messages.map(toPeeked);
}

function toPeeked({ MessageId = '', ReceiptHandle = '', Body = '', Attributes }: Message): PeekedMessage {
  return {
    messageId: MessageId,
    receiptHandle: ReceiptHandle,
    body: Body,
    sentAt: Number(Attributes?.SentTimestamp ?? 0),
  };
}

type Entry = { Id: string; ReceiptHandle: string };

/** Sends all batches, and then throws the first error. */
async function eachBatch(handles: readonly string[], send: (entries: Entry[]) => Promise<unknown>): Promise<void> {
  const errors: unknown[] = [];
  await inParallel(chunks(handles, BATCH), PARALLEL, async (batch) => {
    const entries = batch.map((handle, index) => ({ Id: String(index), ReceiptHandle: handle }));
    await send(entries).catch((error: unknown) => errors.push(error));
  });
  if (errors.length > 0) throw errors[0];
}

async function moveTasks(client: SQSClient, queueArn: string): Promise<MoveTask[]> {
  const { Results = [] } = await client.send(new ListMessageMoveTasksCommand({ SourceArn: queueArn, MaxResults: 10 }));
  return Results.map((task) => ({
    handle: task.TaskHandle,
    status: task.Status as MoveTask['status'],
    startedAt: new Date(Number(task.StartedTimestamp ?? 0)),
    moved: Number(task.ApproximateNumberOfMessagesMoved ?? 0),
    toMove: task.ApproximateNumberOfMessagesToMove,
    failureReason: task.FailureReason,
  }));
}
