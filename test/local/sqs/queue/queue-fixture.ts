import { type Message, newMessage } from '../../../../local/sqs/message/message.ts';
import { createQueue, putMessage, type Queue } from '../../../../local/sqs/queue/queue.ts';
import { receiveMessages } from '../../../../local/sqs/queue/queue-operations.ts';
import { readSettings } from '../../../../local/sqs/queue/queue-settings.ts';

let seq = 0;

export function queueWith(attributes: Record<string, string> = {}): Queue {
  const settings = readSettings(attributes, attributes.FifoQueue === 'true');
  const seed = { name: 'q', arn: 'arn:aws:sqs:us-east-1:000000000000:q', createdAt: 0, modifiedAt: 0, tags: {} };
  return createQueue({ ...seed, settings, onChange: () => undefined });
}

export function put(
  queue: Queue,
  body: string,
  now: number,
  more: { delayMs?: number; groupId?: string } = {},
): Message {
  seq += 1;
  const content = {
    body,
    bodyMd5: '',
    attributes: {},
    ...(more.groupId === undefined ? {} : { groupId: more.groupId }),
  };
  const message = newMessage(
    { seq, id: `00000000-0000-0000-0000-${String(seq).padStart(12, '0')}` },
    content,
    now,
    more.delayMs ?? 0,
  );
  putMessage(queue, message);
  return message;
}

export function take(
  queue: Queue,
  now: number,
  options: { max?: number; visibilityMs?: number; deadLetters?: boolean; longPoll?: boolean } = {},
) {
  return receiveMessages(queue, { max: 10, visibilityMs: 30_000, deadLetters: true, now, ...options });
}

export const bodies = (messages: readonly Message[]) => messages.map((message) => message.content.body);
export const receiptOf = (message: Message) => ({ messageId: message.id, receipt: message.receipt });
