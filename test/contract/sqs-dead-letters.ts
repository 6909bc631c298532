import { expect } from 'vitest';
import type { Behaviour } from './sqs-world.ts';

export const DEAD_LETTERS: Behaviour[] = [
  {
    name: 'a message moves to the dead-letter queue on the receive after its last allowed one',
    run: async ({ pair, send, bodies }) => {
      const { source, dlq } = await pair(2);
      await send(source, 'a');

      expect(await bodies(source, { VisibilityTimeout: 0 })).toEqual(['a']);
      expect(await bodies(source, { VisibilityTimeout: 0 })).toEqual(['a']);
      expect(await bodies(dlq)).toEqual([]);
      expect(await bodies(source)).toEqual([]);

      expect(await bodies(dlq, { WaitTimeSeconds: 2 })).toEqual(['a']);
    },
  },
  {
    name: 'a long poll of the dead-letter queue wakes when a message moves there',
    run: async ({ pair, queue, send, bodies }) => {
      const { source, dlq } = await pair(1);
      await send(source, 'a');
      await bodies(source, { VisibilityTimeout: 0 });

      const poll = bodies(dlq, { WaitTimeSeconds: 5 });
      // The poll must be waiting before the move.
      await bodies(await queue(), { WaitTimeSeconds: 1 });
      await bodies(source);

      expect(await poll).toEqual(['a']);
    },
  },
  {
    name: 'the move to the dead-letter queue keeps id, send time and attributes, and continues the receive count',
    run: async ({ sqs, pair, receive }) => {
      const { source, dlq } = await pair(1);
      const MessageAttributes = { kind: { DataType: 'String', StringValue: 'x' } };
      await sqs.sendMessage({ QueueUrl: source, MessageBody: 'a', MessageAttributes });
      const [before] = await receive(source, { VisibilityTimeout: 0 });
      await receive(source);

      const [after] = await receive(dlq, { WaitTimeSeconds: 2, MessageAttributeNames: ['All'] });

      expect(after?.MessageId).toBe(before?.MessageId);
      expect(after?.Attributes?.SentTimestamp).toBe(before?.Attributes?.SentTimestamp);
      expect(after?.MessageAttributes?.kind?.StringValue).toBe('x');
      expect(after?.Attributes?.ApproximateReceiveCount).toBe('2');
    },
  },
  {
    name: 'a dead message names the queue it came from',
    run: async ({ pair, send, receive }) => {
      const { source, dlq, sourceArn } = await pair(1);
      await send(source, 'a');
      await receive(source, { VisibilityTimeout: 0 });
      await receive(source);

      const [message] = await receive(dlq, { WaitTimeSeconds: 2 });

      expect(message?.Attributes?.DeadLetterQueueSourceArn).toBe(sourceArn);
    },
  },
  {
    name: 'ListDeadLetterSourceQueues names the queues that use a dead-letter queue',
    run: async ({ sqs, pair }) => {
      const { source, dlq } = await pair(1);

      const { queueUrls } = await sqs.listDeadLetterSourceQueues({ QueueUrl: dlq });

      expect(queueUrls).toEqual([source]);
    },
  },
];
