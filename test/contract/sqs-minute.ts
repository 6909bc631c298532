import { expect } from 'vitest';
import { type Behaviour, pause } from './sqs-world.ts';

/** Behaviours that take a minute each. */
export const MINUTE_LONG: Behaviour[] = [
  {
    name: 'a message is deleted after its retention period of 60 seconds',
    run: async ({ queue, send, depth, bodies }) => {
      const url = await queue({ MessageRetentionPeriod: '60' });
      await send(url, 'a');
      await pause(50);
      const before = await depth(url);
      await pause(12);

      expect(before).toEqual([1, 0, 0]);
      expect(await bodies(url)).toEqual([]);
      expect(await depth(url)).toEqual([0, 0, 0]);
    },
  },
  {
    name: 'retention in a dead-letter queue counts from the first send',
    run: async ({ sqs, queue, arn, send, bodies, depth }) => {
      const dlq = await queue({ MessageRetentionPeriod: '60' });
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: await arn(dlq), maxReceiveCount: 1 });
      const source = await queue({ RedrivePolicy });
      await send(source, 'a');
      await bodies(source, { VisibilityTimeout: 0 });
      await pause(30);
      await bodies(source);
      const [dead] = await depth(dlq);
      await pause(32);

      expect(dead).toBe(1);
      expect(await bodies(dlq)).toEqual([]);
      await sqs.deleteQueue({ QueueUrl: source });
    },
  },
  {
    name: 'after 60 seconds a deleted queue can be created again, and a purged queue purged again',
    run: async ({ sqs, queue, name }) => {
      const QueueName = name();
      const { QueueUrl } = await sqs.createQueue({ QueueName });
      const purged = await queue();
      await sqs.deleteQueue({ QueueUrl });
      await sqs.purgeQueue({ QueueUrl: purged });

      await pause(62);

      await sqs.purgeQueue({ QueueUrl: purged });
      expect((await sqs.createQueue({ QueueName })).QueueUrl).toBe(QueueUrl);
    },
  },
];
