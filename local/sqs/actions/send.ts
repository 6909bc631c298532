import { hash } from 'node:crypto';
import { type Broker, nextIdentity } from '../broker/broker.ts';
import { invalidParameter, missingParameter, SqsError } from '../errors.ts';
import { type Content, newMessage } from '../message/message.ts';
import {
  attributeBytes,
  attributesMd5,
  FORBIDDEN_CHARACTER,
  readAttribute,
  readMessageAttributes,
} from '../message/message-attributes.ts';
import { rememberSend, sentBefore } from '../queue/deduplication.ts';
import { putMessage, type Queue } from '../queue/queue.ts';
import { readEntries, runEntries } from './batch.ts';
import { type Action, type Input, readInteger, readObject, readQueue, readString } from './input.ts';

const BATCH_BYTES = 1_048_576;
const PRINTABLE_ID = /^[!-~]{1,128}$/;

export const sendMessage: Action = (broker, input) => {
  const queue = readQueue(broker, input);
  const answer = send(broker, queue, input);
  broker.polls.poke(queue);
  return answer;
};

export const sendMessageBatch: Action = (broker, input) => {
  const queue = readQueue(broker, input);
  const entries = readEntries(input);
  const bytes = entries.reduce((sum, entry) => sum + roughBytes(entry.input), 0);
  if (bytes > BATCH_BYTES) {
    const message = `Batch requests cannot be longer than ${BATCH_BYTES} bytes. You have sent ${bytes} bytes.`;
    throw new SqsError('BatchRequestTooLong', message);
  }
  const result = runEntries(entries, (entry) => send(broker, queue, entry.input));
  broker.polls.poke(queue);
  return result;
};

function send(broker: Broker, queue: Queue, input: Input): object {
  const content = readContent(queue, input);
  const delayMs = readDelay(queue, input);
  const systemMd5 = content.traceHeader === undefined ? undefined : traceMd5(content.traceHeader);
  const answer = {
    MD5OfMessageBody: content.bodyMd5,
    ...(content.attributesMd5 === undefined ? {} : { MD5OfMessageAttributes: content.attributesMd5 }),
    ...(systemMd5 === undefined ? {} : { MD5OfMessageSystemAttributes: systemMd5 }),
  };
  const now = broker.now();
  const before = sentBefore(queue, content, now);
  if (before !== undefined) return { ...answer, ...before };
  const message = newMessage(nextIdentity(broker), content, now, delayMs);
  putMessage(queue, message);
  return { ...answer, MessageId: message.id, ...rememberSend(queue, message) };
}

function readContent(queue: Queue, input: Input): Content {
  const body = readString(input, 'MessageBody');
  if (body === undefined || body === '') throw missingParameter('MessageBody');
  const attributes = readMessageAttributes(input.MessageAttributes);
  const most = queue.settings.maximumBytes;
  if (Buffer.byteLength(body) + attributeBytes(attributes) > most) {
    const reason = `Message must be shorter than ${most} bytes.`;
    throw new SqsError('InvalidParameterValue', `One or more parameters are invalid. Reason: ${reason}`);
  }
  if (FORBIDDEN_CHARACTER.test(body)) {
    const allowed = '#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF';
    throw new SqsError('InvalidMessageContents', `Invalid characters found. Valid unicode characters are ${allowed}`);
  }
  const md5 = attributesMd5(attributes);
  const traceHeader = readTraceHeader(input);
  const groupId = readGroupId(queue, input);
  const deduplicationId = readDeduplicationId(queue, input, body);
  return {
    body,
    bodyMd5: hash('md5', body),
    attributes,
    ...(md5 === undefined ? {} : { attributesMd5: md5 }),
    ...(traceHeader === undefined ? {} : { traceHeader }),
    ...(groupId === undefined ? {} : { groupId }),
    ...(deduplicationId === undefined ? {} : { deduplicationId }),
  };
}

function readDelay(queue: Queue, input: Input): number {
  const seconds = readInteger(input, 'DelaySeconds', 0, 900);
  if (seconds !== undefined && seconds > 0 && queue.settings.fifo) {
    throw invalidParameter(
      'DelaySeconds',
      seconds,
      'The request include parameter that is not valid for this queue type',
    );
  }
  return seconds === undefined ? queue.settings.delayMs : seconds * 1000;
}

function readTraceHeader(input: Input): string | undefined {
  const system = readObject(input, 'MessageSystemAttributes');
  for (const name of Object.keys(system)) {
    if (name !== 'AWSTraceHeader')
      throw invalidParameter('MessageSystemAttributes', name, 'Only AWSTraceHeader is supported.');
  }
  if (system.AWSTraceHeader === undefined) return undefined;
  return readAttribute('AWSTraceHeader', system.AWSTraceHeader).StringValue;
}

function readGroupId(queue: Queue, input: Input): string | undefined {
  const id = readString(input, 'MessageGroupId');
  if (id === undefined && queue.settings.fifo) throw missingParameter('MessageGroupId');
  if (id !== undefined && !PRINTABLE_ID.test(id)) {
    const reason = 'MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.';
    throw invalidParameter('MessageGroupId', id, reason);
  }
  return id;
}

/** The id given, or the SHA-256 of the body; undefined on a standard queue. */
function readDeduplicationId(queue: Queue, input: Input, body: string): string | undefined {
  const id = readString(input, 'MessageDeduplicationId');
  if (!queue.settings.fifo) {
    if (id === undefined) return undefined;
    const reason = 'The request include parameter that is not valid for this queue type';
    throw invalidParameter('MessageDeduplicationId', id, reason);
  }
  if (id !== undefined && !PRINTABLE_ID.test(id)) {
    const reason =
      'MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to 128 in length.';
    throw invalidParameter('MessageDeduplicationId', id, reason);
  }
  if (id !== undefined) return id;
  if (queue.settings.contentBasedDeduplication) return hash('sha256', body);
  const reason =
    'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly';
  throw new SqsError('InvalidParameterValue', reason);
}

function traceMd5(traceHeader: string): string | undefined {
  return attributesMd5({ AWSTraceHeader: { DataType: 'String', StringValue: traceHeader } });
}

/** What an entry adds to the size of its batch, before any check of the entry itself. */
function roughBytes(input: Input): number {
  const body = typeof input.MessageBody === 'string' ? Buffer.byteLength(input.MessageBody) : 0;
  try {
    return body + attributeBytes(readMessageAttributes(input.MessageAttributes));
  } catch (error) {
    // The entry fails by itself later, with this error as its reason.
    if (error instanceof SqsError) return body;
    throw error;
  }
}
