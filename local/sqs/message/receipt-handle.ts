import { invalidParameter, missingParameter, SqsError } from '../errors.ts';
import type { Message } from './message.ts';

/** What a receipt handle names: a message of a queue and the receive that gave it out. */
export interface Receipt {
  readonly messageId: string;
  readonly receipt: number;
}

const PREFIX = 'AQEB';
const CONTENT = /^([0-9a-f-]{36}) (\d+) ([A-Za-z0-9_-]{1,80}(?:\.fifo)?)$/;

/** Opaque to clients. It holds all that is needed, so handles outlive a restart. */
export function writeReceiptHandle(queueName: string, message: Message): string {
  return PREFIX + Buffer.from(`${message.id} ${message.receipt} ${queueName}`).toString('base64');
}

/** @throws SqsError ReceiptHandleIsInvalid when it is not one of this queue's handles. */
export function readReceiptHandle(queueName: string, handle: unknown): Receipt {
  if (handle === undefined || handle === null || handle === '') throw missingParameter('ReceiptHandle');
  if (typeof handle !== 'string') throw invalidParameter('ReceiptHandle', handle, 'Must be a string.');
  const text = handle.startsWith(PREFIX) ? Buffer.from(handle.slice(PREFIX.length), 'base64').toString('latin1') : '';
  const [, messageId, receipt, queue] = CONTENT.exec(text) ?? [];
  if (messageId === undefined || queue !== queueName) {
    throw new SqsError('ReceiptHandleIsInvalid', `The input receipt handle "${handle}" is not a valid receipt handle.`);
  }
  return { messageId, receipt: Number(receipt) };
}
