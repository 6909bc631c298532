import { type Broker, deliver } from '../broker/broker.ts';
import { SqsError } from '../errors.ts';
import type { Message } from '../message/message.ts';
import { attributesMd5, selectAttributes } from '../message/message-attributes.ts';
import { writeReceiptHandle } from '../message/receipt-handle.ts';
import { sequenceNumber } from '../queue/deduplication.ts';
import type { Queue } from '../queue/queue.ts';
import { undoReceive } from '../queue/queue-operations.ts';
import { type Action, type Input, readInteger, readQueue, readStrings } from './input.ts';

const SENDER_ID = 'AIDA00000000000000000';

const SYSTEM_ATTRIBUTES: Readonly<Record<string, (message: Message) => string | undefined>> = {
  SenderId: () => SENDER_ID,
  SentTimestamp: (message) => String(message.sentAt),
  ApproximateReceiveCount: (message) => String(message.receiveCount),
  ApproximateFirstReceiveTimestamp: (message) => String(message.firstReceivedAt),
  AWSTraceHeader: (message) => message.content.traceHeader,
  DeadLetterQueueSourceArn: (message) => message.sourceArn,
  MessageGroupId: (message) => message.content.groupId,
  MessageDeduplicationId: (message) => message.content.deduplicationId,
  SequenceNumber: (message) => (message.content.deduplicationId === undefined ? undefined : sequenceNumber(message)),
};

export const receiveMessage: Action = async (broker, input, connection) => {
  const queue = readQueue(broker, input);
  const max = readInteger(input, 'MaxNumberOfMessages', 1, 10) ?? 1;
  const visibility = readInteger(input, 'VisibilityTimeout', 0, 43_200);
  const waitSeconds = readInteger(input, 'WaitTimeSeconds', 0, 20) ?? queue.settings.waitSeconds;
  const systemNames = readSystemNames(input);
  const attributeNames = readStrings(input, 'MessageAttributeNames');

  const visibilityMs = visibility === undefined ? queue.settings.visibilityMs : visibility * 1000;
  // A message waits or is answered as it was when taken, since a later receive of the same message changes it.
  let answer: object[] = [];
  const take = () => {
    const messages = deliver(broker, queue, { max, visibilityMs, longPoll: waitSeconds > 0 });
    answer = messages.map((message) => present(queue, message, systemNames, attributeNames));
    connection.undo = undoer(broker, queue, messages);
    return messages;
  };
  if (take().length === 0 && waitSeconds > 0) {
    const deadline = broker.now() + waitSeconds * 1000;
    await broker.polls.wait(queue, { take, deadline }, connection.onGone);
  }
  return answer.length === 0 ? {} : { Messages: answer };
};

function readSystemNames(input: Input): readonly string[] {
  const names = [...readStrings(input, 'MessageSystemAttributeNames'), ...readStrings(input, 'AttributeNames')];
  const unknown = names.find((name) => name !== 'All' && !Object.hasOwn(SYSTEM_ATTRIBUTES, name));
  if (unknown !== undefined) throw new SqsError('InvalidAttributeName', `Unknown Attribute ${unknown}.`);
  return names.includes('All') ? Object.keys(SYSTEM_ATTRIBUTES) : names;
}

function undoer(broker: Broker, queue: Queue, messages: readonly Message[]): () => void {
  const receipts = messages.map(({ id, receipt }) => ({ messageId: id, receipt }));
  return () => {
    for (const receipt of receipts) undoReceive(queue, receipt, broker.now());
    broker.polls.poke(queue);
  };
}

function present(queue: Queue, message: Message, systemNames: readonly string[], attributeNames: readonly string[]) {
  const { content } = message;
  const attributes = selectAttributes(content.attributes, attributeNames);
  const md5 = attributes === content.attributes ? content.attributesMd5 : attributesMd5(attributes);
  return {
    MessageId: message.id,
    ReceiptHandle: writeReceiptHandle(queue.name, message),
    MD5OfBody: content.bodyMd5,
    Body: content.body,
    ...(systemNames.length === 0 ? {} : { Attributes: systemAttributes(message, systemNames) }),
    ...(md5 === undefined ? {} : { MD5OfMessageAttributes: md5, MessageAttributes: attributes }),
  };
}

function systemAttributes(message: Message, names: readonly string[]): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const name of names) {
    const value = SYSTEM_ATTRIBUTES[name]?.(message);
    if (value !== undefined) attributes[name] = value;
  }
  return attributes;
}
