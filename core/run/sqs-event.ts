import { decodeMessage } from '../aws/message.ts';
import type { Delivery } from './decide.ts';

/** The part of Lambda's SQS event that Millrace uses (AWS documentation, "Using Lambda with Amazon SQS"). */
export interface SqsEvent {
  readonly Records: readonly SqsRecord[];
}

export interface SqsRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes?: { readonly ApproximateReceiveCount?: string; readonly SentTimestamp?: string };
}

/** The response to Lambda, which deletes every message that it does not name. */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/** The messages of a batch: those that request a start, their twins, and unreadable ones. */
export interface DecodedBatch {
  /** One message for each (job, claim). */
  readonly deliveries: readonly Delivery[];
  /** Further messages of a (job, claim) that is in `deliveries`. */
  readonly twins: readonly Delivery[];
  readonly unreadable: readonly SqsRecord[];
}

export function decodeBatch(event: SqsEvent): DecodedBatch {
  const deliveries = new Map<string, Delivery>();
  const twins: Delivery[] = [];
  const unreadable: SqsRecord[] = [];
  for (const record of event.Records) {
    const delivery = toDelivery(record);
    if (delivery === undefined) {
      unreadable.push(record);
      continue;
    }
    const key = `${delivery.message.jobId}/${delivery.message.claimNo}/${delivery.message.epoch}`;
    const first = deliveries.get(key);
    if (first === undefined) deliveries.set(key, delivery);
    // Two copies of one message in a batch share one answer, which Lambda matches by message id.
    else if (first.messageId !== delivery.messageId) twins.push(delivery);
  }
  return { deliveries: [...deliveries.values()], twins, unreadable };
}

/** The end of the year 9999 in milliseconds; later timestamps are invalid. */
const LATEST = 253_402_300_799_000;

/** Decodes a record; undefined for a bad body, or without the attributes that SQS adds to every message. */
function toDelivery({ messageId, receiptHandle, body, attributes }: SqsRecord): Delivery | undefined {
  const message = decodeMessage(body);
  const sentAt = Number(attributes?.SentTimestamp ?? Number.NaN);
  const receiveCount = Number(attributes?.ApproximateReceiveCount ?? Number.NaN);
  const dated = Number.isInteger(sentAt) && sentAt >= 0 && sentAt <= LATEST;
  if (message === undefined || !dated || !Number.isInteger(receiveCount)) return undefined;
  return { message, messageId, receiptHandle, sentAt, receiveCount };
}
