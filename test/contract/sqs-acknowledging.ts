import { MessageNotInflight, ReceiptHandleIsInvalid } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import { type Behaviour, refusal, refused, type World } from './sqs-world.ts';

async function handleOf({ send, receive }: World, url: string, VisibilityTimeout = 30): Promise<string> {
  await send(url, 'a');
  return (await receive(url, { VisibilityTimeout }))[0]!.ReceiptHandle!;
}

/** Waits by the server's clock, with a long poll of an empty queue: the counts of visible messages lag, on AWS too. */
async function outlast({ queue, receive }: World, seconds: number): Promise<void> {
  await receive(await queue(), { WaitTimeSeconds: seconds + 1 });
}

export const ACKNOWLEDGING: Behaviour[] = [
  {
    name: 'a visibility of 0 makes a message visible at once',
    run: async (world) => {
      const QueueUrl = await world.queue();
      const ReceiptHandle = await handleOf(world, QueueUrl);

      await world.sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 });

      expect(await world.bodies(QueueUrl)).toEqual(['a']);
    },
  },
  {
    name: 'a longer visibility hides a message past its first deadline',
    run: async (world) => {
      const QueueUrl = await world.queue();
      const ReceiptHandle = await handleOf(world, QueueUrl, 1);

      await world.sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 30 });

      expect(await world.bodies(QueueUrl, { WaitTimeSeconds: 2 })).toEqual([]);
    },
  },
  {
    name: 'the visibility of a message no longer in flight cannot be changed',
    run: async (world) => {
      const QueueUrl = await world.queue();
      const ReceiptHandle = await handleOf(world, QueueUrl, 1);
      await outlast(world, 1);

      const call = world.sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 5 });

      await refused(call, MessageNotInflight.name, 'InvalidParameterValue');
    },
  },
  {
    name: 'the visibility of a deleted message cannot be changed',
    run: async (world) => {
      const QueueUrl = await world.queue();
      const ReceiptHandle = await handleOf(world, QueueUrl);
      await world.sqs.deleteMessage({ QueueUrl, ReceiptHandle });

      const call = world.sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 5 });

      await refused(call, 'InvalidParameterValue', MessageNotInflight.name, ReceiptHandleIsInvalid.name);
    },
  },
  {
    name: 'a visibility of 43201 seconds is refused',
    run: async (world) => {
      const QueueUrl = await world.queue();
      const ReceiptHandle = await handleOf(world, QueueUrl);

      const call = world.sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 43_201 });

      await refused(call, 'InvalidParameterValue');
    },
  },
  {
    name: 'a visibility batch with a good and a bad handle succeeds for the good one',
    run: async (world) => {
      const QueueUrl = await world.queue();
      const good = await handleOf(world, QueueUrl);

      const { Successful, Failed } = await world.sqs.changeMessageVisibilityBatch({
        QueueUrl,
        Entries: [
          { Id: 'good', ReceiptHandle: good, VisibilityTimeout: 0 },
          { Id: 'bad', ReceiptHandle: 'bogus', VisibilityTimeout: 0 },
        ],
      });

      expect(Successful?.map(({ Id }) => Id)).toEqual(['good']);
      expect(Failed?.map(({ Id, SenderFault }) => [Id, SenderFault])).toEqual([['bad', true]]);
      expect(await world.bodies(QueueUrl)).toEqual(['a']);
    },
  },
  {
    name: 'deleting with a bogus handle is refused as ReceiptHandleIsInvalid',
    run: async (world) => {
      const QueueUrl = await world.queue();

      const call = world.sqs.deleteMessage({ QueueUrl, ReceiptHandle: 'bogus' });

      expect(await refusal(call)).toBeInstanceOf(ReceiptHandleIsInvalid);
    },
  },
  {
    name: 'deleting twice succeeds twice',
    run: async (world) => {
      const QueueUrl = await world.queue();
      const ReceiptHandle = await handleOf(world, QueueUrl);

      await world.sqs.deleteMessage({ QueueUrl, ReceiptHandle });
      await world.sqs.deleteMessage({ QueueUrl, ReceiptHandle });

      expect(await world.depth(QueueUrl)).toEqual([0, 0, 0]);
    },
  },
  {
    name: 'a handle still deletes after its visibility timeout, until the next receive',
    run: async (world) => {
      const QueueUrl = await world.queue();
      const ReceiptHandle = await handleOf(world, QueueUrl, 1);
      await outlast(world, 1);

      await world.sqs.deleteMessage({ QueueUrl, ReceiptHandle });

      expect(await world.depth(QueueUrl)).toEqual([0, 0, 0]);
    },
  },
  {
    name: 'deleting with the handle of an earlier receive succeeds',
    run: async (world) => {
      const QueueUrl = await world.queue();
      const stale = await handleOf(world, QueueUrl, 0);
      const [later] = await world.receive(QueueUrl);

      await world.sqs.deleteMessage({ QueueUrl, ReceiptHandle: stale });

      // AWS does not specify whether the message stays. Deleting by the newest handle must succeed in both cases.
      await world.sqs.deleteMessage({ QueueUrl, ReceiptHandle: later!.ReceiptHandle });
      expect(await world.depth(QueueUrl)).toEqual([0, 0, 0]);
    },
  },
  {
    name: 'a delete batch with a good and a bad handle succeeds for the good one',
    run: async (world) => {
      const QueueUrl = await world.queue();
      const good = await handleOf(world, QueueUrl);

      const { Successful, Failed } = await world.sqs.deleteMessageBatch({
        QueueUrl,
        Entries: [
          { Id: 'good', ReceiptHandle: good },
          { Id: 'bad', ReceiptHandle: 'bogus' },
        ],
      });

      expect(Successful?.map(({ Id }) => Id)).toEqual(['good']);
      expect(Failed?.map(({ Id, Code }) => [Id, Code])).toEqual([['bad', 'ReceiptHandleIsInvalid']]);
      expect(await world.depth(QueueUrl)).toEqual([0, 0, 0]);
    },
  },
];
