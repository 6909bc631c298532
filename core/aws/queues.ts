import {
  ChangeMessageVisibilityBatchCommand,
  QueueDoesNotExist,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { systemTime, type Time } from '../time.ts';
import { BATCH, chunks, inParallel, PARALLEL, TIMEOUTS } from './batches.ts';
import { type AwsAddress, openSqs } from './clients.ts';

/** One message to send; `id` is the caller's, unique within the call. */
export interface Outgoing {
  readonly id: string;
  readonly body: string;
  /** Message group: a standard queue serves its groups fairly; at most 128 characters. */
  readonly groupId?: string;
}

export type SendResult =
  /** SQS accepted the message. */
  | 'sent'
  /** SQS refused the message, and may accept it later. */
  | 'refused'
  /** SQS will never accept the message. */
  | 'rejected'
  /** The call failed, so the message may or may not have been sent. */
  | 'unknown'
  /** The queue does not exist. */
  | 'no_queue';

/** The result of sending one message. */
export interface SendVerdict {
  readonly id: string;
  readonly kind: SendResult;
  readonly reason: string;
}

export interface Queues {
  /**
   * Sends any number of messages in batches of ten, in parallel, and those that it has not begun to send within ten
   * seconds not at all. Never throws, and never sends a message twice.
   */
  send(queueUrl: string, messages: readonly Outgoing[]): Promise<SendVerdict[]>;
  /** Makes messages visible at once. A message that fails becomes visible at its visibility timeout. */
  makeVisible(queueUrl: string, receiptHandles: readonly string[]): Promise<void>;
  close(): void;
}

/**
 * Time after which no call of a send begins: a queue that does not answer must not delay those of other handlers until
 * the dispatcher's claims are released.
 */
const SEND_MS = 10_000;

/** Opens a client. Without an address, the AWS SDK reads the region, credentials and endpoint from the environment. */
export function openQueues(address?: AwsAddress, time: Pick<Time, 'now'> = systemTime): Queues {
  // No retries: a retried batch can send a message twice, and each claim number must be sent at most once.
  const sender = openSqs({ requestHandler: TIMEOUTS, maxAttempts: 1 }, address);
  const client = openSqs({ requestHandler: TIMEOUTS }, address);
  return {
    send: async (queueUrl, messages) => {
      const batches = chunks(messages, BATCH);
      const end = time.now() + SEND_MS;
      const verdicts = await inParallel(batches, PARALLEL, async (batch) =>
        time.now() < end ? sendBatch(sender, queueUrl, batch) : batch.map(notTried),
      );
      return verdicts.flat();
    },
    makeVisible: async (queueUrl, receiptHandles) => {
      await inParallel(chunks(receiptHandles, BATCH), PARALLEL, (batch) => showBatch(client, queueUrl, batch));
    },
    close: () => {
      sender.destroy();
      client.destroy();
    },
  };
}

function notTried({ id }: Outgoing): SendVerdict {
  const reason = `not sent: the messages before it took longer than ${SEND_MS / 1000} s`;
  return { id, kind: 'refused', reason };
}

async function sendBatch(client: SQSClient, queueUrl: string, messages: readonly Outgoing[]): Promise<SendVerdict[]> {
  try {
    const command = new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries: messages.map(toEntry) });
    const { Successful = [], Failed = [] } = await client.send(command);
    const sent = new Set(Successful.map(({ Id }) => Id));
    const failed = new Map(Failed.map((entry) => [entry.Id, entry]));
    return messages.map(({ id }, index) => {
      if (sent.has(String(index))) return { id, kind: 'sent', reason: '' };
      const failure = failed.get(String(index));
      if (failure === undefined) return { id, kind: 'unknown', reason: 'the response of SQS does not include it' };
      const reason = `${failure.Code ?? 'refused'}: ${failure.Message ?? 'no reason given'}`;
      return { id, kind: failure.SenderFault ? 'rejected' : 'refused', reason };
    });
  } catch (error) {
    const kind = error instanceof QueueDoesNotExist ? 'no_queue' : 'unknown';
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return messages.map(({ id }) => ({ id, kind, reason }));
  }
}

function toEntry({ body, groupId }: Outgoing, index: number): SendMessageBatchRequestEntry {
  return { Id: String(index), MessageBody: body, ...(groupId !== undefined && { MessageGroupId: groupId }) };
}

async function showBatch(client: SQSClient, queueUrl: string, receiptHandles: readonly string[]): Promise<void> {
  const entries = receiptHandles.map((handle, index) => ({
    Id: String(index),
    ReceiptHandle: handle,
    VisibilityTimeout: 0,
  }));
  const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries: entries });
  await client.send(command).catch(() => undefined);
}
