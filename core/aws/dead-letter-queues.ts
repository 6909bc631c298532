import {
  CancelMessageMoveTaskCommand,
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  ListMessageMoveTasksCommand,
  type Message,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { DEAD_LETTER_RETENTION_SECONDS } from '../handler/timing.ts';
import type { AwsAddress } from './batches.ts';
import { BATCH, chunks, inParallel, PARALLEL, TIMEOUTS } from './batches.ts';

/** A message as it lies in a queue. */
export interface PeekedMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  /** SentTimestamp, milliseconds: of its sending, or of its last move by a move task. */
  readonly sentAt: number;
}

export interface QueueState {
  readonly arn: string;
  /** Messages in it, received ones included. Approximate, as SQS says. */
  readonly depth: number;
  /** How long it keeps a message, counted from its sending. */
  readonly retentionSeconds: number;
}

/** A redrive by SQS itself: what the AWS console starts. */
export interface MoveTask {
  /** Only while it runs. */
  readonly handle: string | undefined;
  readonly status: 'RUNNING' | 'COMPLETED' | 'CANCELLING' | 'CANCELLED' | 'FAILED';
  readonly startedAt: Date;
  readonly moved: number;
  /** As counted when it began; undefined when SQS does not say. */
  readonly toMove: number | undefined;
  readonly failureReason: string | undefined;
}

/** What looking after dead-letter queues needs of SQS. Every call throws what the SDK throws. */
export interface DeadLetterQueues {
  /** Undefined when there is no such queue. */
  describe(queueUrl: string): Promise<QueueState | undefined>;
  /** Up to ten messages, hidden from others for so many seconds. Asks every server, so it may wait for a second. */
  peek(queueUrl: string, visibilitySeconds: number): Promise<PeekedMessage[]>;
  /** Makes them visible again at once. What fails comes back at its visibility timeout. */
  makeVisible(queueUrl: string, receiptHandles: readonly string[]): Promise<void>;
  /** Deletes them. What fails comes back. */
  remove(queueUrl: string, receiptHandles: readonly string[]): Promise<void>;
  /** The last ten, the newest first. */
  moveTasks(queueArn: string): Promise<MoveTask[]>;
  /** Begins to move all back to where each came from, `rate` messages (1 to 500) a second; answers a handle. */
  startMove(queueArn: string, rate?: number): Promise<string>;
  cancelMove(handle: string): Promise<void>;
  close(): void;
}

/** Region, credentials and endpoint come from the environment, as the AWS SDK reads it, unless they are given. */
export function openDeadLetterQueues(address?: AwsAddress): DeadLetterQueues {
  const client = new SQSClient({ requestHandler: TIMEOUTS, useQueueUrlAsEndpoint: false, maxAttempts: 3, ...address });
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
      // Not every server tells it.
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
      // A short poll asks some servers only, and sees some messages only.
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

/** Tries all batches before it throws what one of them threw. */
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
