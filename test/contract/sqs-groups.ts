import { expect } from 'vitest';
import { type Behaviour, refused, type World } from './sqs-world.ts';

async function sendGrouped({ sqs }: World, QueueUrl: string, bodies: string[]): Promise<void> {
  for (const MessageBody of bodies) {
    const MessageGroupId = MessageBody.slice(0, 1);
    await sqs.sendMessage({ QueueUrl, MessageBody, MessageGroupId, MessageDeduplicationId: MessageBody });
  }
}

const noisyEntries = (count: number, offset: number) =>
  Array.from({ length: count }, (_, index) => ({
    Id: `e${index}`,
    MessageBody: `noisy${offset + index}`,
    MessageGroupId: 'noisy',
  }));

export const GROUPS: Behaviour[] = [
  {
    name: 'FIFO: a group keeps its order and is blocked while one of its messages is in flight',
    run: async (world) => {
      const url = await world.fifo();
      await sendGrouped(world, url, ['A1', 'A2', 'B1']);
      const one = { MaxNumberOfMessages: 1 };

      const [first] = await world.receive(url, one);
      const second = await world.bodies(url, one);
      const third = await world.bodies(url, one);
      await world.sqs.deleteMessage({ QueueUrl: url, ReceiptHandle: first!.ReceiptHandle });

      expect([first?.Body, second, third]).toEqual(['A1', ['B1'], []]);
      expect(await world.bodies(url, one)).toEqual(['A2']);
    },
  },
  {
    name: 'FIFO: one receive returns several messages of a group',
    run: async (world) => {
      const url = await world.fifo();
      await sendGrouped(world, url, ['A1', 'A2', 'A3']);

      expect(await world.bodies(url)).toEqual(['A1', 'A2', 'A3']);
    },
  },
  {
    name: 'FIFO: a repeated deduplication id sends one message, sends are numbered, and a group id is required',
    run: async (world) => {
      const QueueUrl = await world.fifo({ ContentBasedDeduplication: 'true' });
      const request = { QueueUrl, MessageBody: 'A', MessageGroupId: 'A' };

      const first = await world.sqs.sendMessage(request);
      await world.sqs.sendMessage(request);

      expect(first.SequenceNumber).toMatch(/^\d{20}$/);
      expect(await world.bodies(QueueUrl)).toEqual(['A']);
      await refused(world.sqs.sendMessage({ QueueUrl, MessageBody: 'A' }), 'MissingParameter', 'InvalidParameterValue');
    },
  },
  {
    name: 'FIFO: a standard queue cannot be the dead-letter queue',
    run: async (world) => {
      const standard = await world.arn(await world.queue());
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: standard, maxReceiveCount: 2 });

      await refused(world.fifo({ RedrivePolicy }), 'InvalidParameterValue', 'InvalidAttributeValue');
    },
  },
  {
    name: 'FIFO: a message that moves to a FIFO dead-letter queue gets its id as deduplication id',
    run: async (world) => {
      const dlq = await world.fifo();
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: await world.arn(dlq), maxReceiveCount: 1 });
      const source = await world.fifo({ RedrivePolicy });
      await sendGrouped(world, source, ['A1']);
      await world.receive(source, { VisibilityTimeout: 0 });
      await world.receive(source);

      const [dead] = await world.receive(dlq, { WaitTimeSeconds: 2 });

      expect(dead?.Attributes?.MessageDeduplicationId).toBe(dead?.MessageId);
    },
  },
  {
    name: 'a group id of 129 characters is refused',
    run: async ({ sqs, queue }) => {
      const call = sqs.sendMessage({ QueueUrl: await queue(), MessageBody: 'a', MessageGroupId: 'x'.repeat(129) });

      await refused(call, 'InvalidParameterValue');
    },
  },
  {
    name: 'fair queue: a group id on a standard queue is accepted and returned',
    run: async ({ sqs, queue, receive }) => {
      const QueueUrl = await queue();

      await sqs.sendMessage({ QueueUrl, MessageBody: 'a', MessageGroupId: 'tenant-1' });

      expect((await receive(QueueUrl))[0]?.Attributes?.MessageGroupId).toBe('tenant-1');
    },
  },
  {
    name: 'fair queue: a group id in a batch on a standard queue is accepted and returned',
    run: async ({ sqs, queue, receive }) => {
      const QueueUrl = await queue();

      await sqs.sendMessageBatch({ QueueUrl, Entries: [{ Id: 'a', MessageBody: 'a', MessageGroupId: 'tenant-1' }] });

      expect((await receive(QueueUrl))[0]?.Attributes?.MessageGroupId).toBe('tenant-1');
    },
  },
  {
    name: 'fair queue: a quiet group is served before the backlog of a noisy one',
    run: async ({ sqs, queue, receive, bodies }) => {
      const QueueUrl = await queue();
      for (let batch = 0; batch < 10; batch += 1) {
        await sqs.sendMessageBatch({ QueueUrl, Entries: noisyEntries(10, batch * 10) });
      }
      for (let batch = 0; batch < 5; batch += 1) await receive(QueueUrl);
      await sqs.sendMessage({ QueueUrl, MessageBody: 'quiet', MessageGroupId: 'quiet' });

      expect(await bodies(QueueUrl)).toContain('quiet');
    },
  },
];
