import { expect } from 'vitest';
import { type Behaviour, beforeItsEnd, createWorld, eventually, refusal, refused, timed } from './sqs-world.ts';

export const RECEIVING: Behaviour[] = [
  {
    name: 'a receive returns send time, receive count, first receive and sender',
    run: async ({ queue, send, receive }) => {
      const url = await queue();
      const before = Date.now();
      await send(url, 'a');

      const [message] = await receive(url);

      const attributes = message?.Attributes ?? {};
      expect(Number(attributes.SentTimestamp)).toBeGreaterThanOrEqual(before - 1000);
      expect(Number(attributes.ApproximateFirstReceiveTimestamp)).toBeGreaterThanOrEqual(before - 1000);
      expect(attributes.ApproximateReceiveCount).toBe('1');
      expect(attributes.SenderId).toBeTypeOf('string');
    },
  },
  {
    name: 'the older AttributeNames parameter still works',
    run: async ({ sqs, queue, send }) => {
      const QueueUrl = await queue();
      await send(QueueUrl, 'a');

      const { Messages } = await sqs.receiveMessage({ QueueUrl, AttributeNames: ['All'] });

      expect(Messages?.[0]?.Attributes?.ApproximateReceiveCount).toBe('1');
    },
  },
  {
    name: 'a receive of 11 or 0 messages is refused',
    run: async ({ queue, receive }) => {
      const url = await queue();

      await refused(receive(url, { MaxNumberOfMessages: 11 }), 'InvalidParameterValue');
      await refused(receive(url, { MaxNumberOfMessages: 0 }), 'InvalidParameterValue');
    },
  },
  {
    name: 'a wait of 21 seconds is refused',
    run: async ({ queue, receive }) => {
      const url = await queue();

      await refused(beforeItsEnd(receive(url, { WaitTimeSeconds: 21 })), 'InvalidParameterValue');
    },
  },
  {
    name: 'an empty long poll waits for the time of the call, or else of the queue',
    run: async ({ queue, receive }) => {
      const [plain, patient] = await Promise.all([queue(), queue({ ReceiveMessageWaitTimeSeconds: '1' })]);

      const [byCall, byQueue] = await Promise.all([
        timed(receive(plain, { WaitTimeSeconds: 1 })),
        timed(receive(patient)),
      ]);

      expect([byCall.result, byQueue.result]).toEqual([[], []]);
      expect(byCall.ms).toBeGreaterThan(900);
      expect(byQueue.ms).toBeGreaterThan(900);
    },
  },
  {
    name: 'a long poll wakes when a message is sent',
    run: async ({ queue, send, bodies, receive }) => {
      const url = await queue();
      await receive(url);
      const poll = beforeItsEnd(bodies(url, { WaitTimeSeconds: 20 }));
      await receive(url, { WaitTimeSeconds: 0 });

      await send(url, 'a');

      expect(await poll).toEqual(['a']);
    },
  },
  {
    name: 'a long poll wakes when a delay or a visibility timeout ends',
    run: async ({ sqs, queue, send, receive, bodies }) => {
      const [delayed, hidden] = await Promise.all([queue(), queue()]);
      await sqs.sendMessage({ QueueUrl: delayed, MessageBody: 'delayed', DelaySeconds: 1 });
      await send(hidden, 'hidden');
      await receive(hidden, { VisibilityTimeout: 1 });

      const polls = [delayed, hidden].map((url) => beforeItsEnd(bodies(url, { WaitTimeSeconds: 20 })));

      expect(await Promise.all(polls)).toEqual([['delayed'], ['hidden']]);
    },
  },
  {
    name: 'a long poll of a disconnected client receives no message',
    run: async ({ queue, send, bodies, sqs, endpoint }) => {
      const url = await queue();
      const gone = createWorld(endpoint);
      const abort = new AbortController();
      const poll = gone.sqs.receiveMessage({ QueueUrl: url, WaitTimeSeconds: 5 }, { abortSignal: abort.signal });
      // When the server has answered a request on another connection, the poll is waiting.
      await Promise.race([poll, bodies(await queue(), { WaitTimeSeconds: 1 })]);

      abort.abort();
      expect(await refusal(poll)).toBeInstanceOf(Error);
      gone.sqs.destroy();
      await sqs.listQueues({ MaxResults: 1 });
      await send(url, 'a');

      expect(await bodies(url, { WaitTimeSeconds: 1 })).toEqual(['a']);
    },
  },
  {
    name: 'a message is received again after its visibility timeout, with a higher receive count',
    run: async ({ queue, send, receive }) => {
      const url = await queue({ VisibilityTimeout: '1' });
      await send(url, 'a');

      const [first] = await receive(url);
      const hidden = await receive(url);
      const [second] = await eventually(
        () => receive(url),
        (seen) => seen.length > 0,
      );

      expect(hidden).toEqual([]);
      expect(second?.MessageId).toBe(first?.MessageId);
      expect(second?.Attributes?.ApproximateReceiveCount).toBe('2');
      expect(second?.ReceiptHandle).not.toBe(first?.ReceiptHandle);
    },
  },
  {
    name: "a visibility timeout in the receive overrides the queue's",
    run: async ({ queue, send, receive, bodies }) => {
      const url = await queue({ VisibilityTimeout: '600' });
      await send(url, 'a');

      await receive(url, { VisibilityTimeout: 1 });

      expect(await bodies(url, { WaitTimeSeconds: 3 })).toEqual(['a']);
    },
  },
  {
    name: 'a receive with a visibility timeout of 0 returns a message once and leaves it visible',
    run: async ({ queue, send, bodies, depth }) => {
      const url = await queue();
      await send(url, 'a');

      expect(await bodies(url, { VisibilityTimeout: 0 })).toEqual(['a']);
      expect(await depth(url)).toEqual([1, 0, 0]);
    },
  },
];
