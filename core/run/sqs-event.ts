import { decodeMessage } from '../aws/message.ts';
import type { Delivery } from './decide.ts';

/** The part of Lambda's SQS event that is used here (AWS documentation, "Using Lambda with Amazon SQS"). */
export interface SqsEvent {
  readonly Records: readonly SqsRecord[];
}

export interface SqsRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes?: { readonly ApproximateReceiveCount?: string; readonly SentTimestamp?: string };
}

/** What is not named here is deleted from the queue. */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/** What a batch holds, told apart: what asks for a start, twins of such, and what nobody can read. */
export interface DecodedBatch {
  /** Each (job, claim) once. */
  readonly deliveries: readonly Delivery[];
  /** Another message of a (job, claim) that stands in `deliveries`. */
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
    // One message twice in a batch shares one answer, which goes by its message id.
    else if (first.messageId !== delivery.messageId) twins.push(delivery);
  }
  return { deliveries: [...deliveries.values()], twins, unreadable };
}

/** The year 9999 in milliseconds: what no timestamp exceeds. */
const LATEST = 253_402_300_799_000;

/** A record without the attributes that SQS gives every message is not SQS's, and as unreadable as a bad body. */
function toDelivery({ messageId, receiptHandle, body, attributes }: SqsRecord): Delivery | undefined {
  const message = decodeMessage(body);
  const sentAt = Number(attributes?.SentTimestamp ?? Number.NaN);
  const receiveCount = Number(attributes?.ApproximateReceiveCount ?? Number.NaN);
  const dated = Number.isInteger(sentAt) && sentAt >= 0 && sentAt <= LATEST;
  if (message === undefined || !dated || !Number.isInteger(receiveCount)) return undefined;
  return { message, messageId, receiptHandle, sentAt, receiveCount };
}
