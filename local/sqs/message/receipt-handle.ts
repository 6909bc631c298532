import { invalidParameter, missingParameter, SqsError } from '../errors.ts';
import type { Message } from './message.ts';

/** The content of a receipt handle: a message, and the number of the receive that returned it. */
export interface Receipt {
  readonly messageId: string;
  readonly receipt: number;
}

const PREFIX = 'AQEB';
const CONTENT = /^([0-9a-f-]{36}) (\d+) ([A-Za-z0-9_-]{1,80}(?:\.fifo)?)$/;

/** Writes a handle, opaque to clients. It contains all its data, so handles stay valid after a restart. */
export function writeReceiptHandle(queueName: string, message: Message): string {
  return PREFIX + Buffer.from(`${message.id} ${message.receipt} ${queueName}`).toString('base64');
}

/** @throws SqsError ReceiptHandleIsInvalid if it is not a handle of this queue */
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
