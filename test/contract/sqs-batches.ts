import { BatchEntryIdsNotDistinct, EmptyBatchRequest, TooManyEntriesInBatchRequest } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import { type Behaviour, refusal, refused } from './sqs-world.ts';

const entries = (ids: readonly string[], MessageBody = 'a') => ids.map((Id) => ({ Id, MessageBody }));

export const BATCHES: Behaviour[] = [
  {
    name: 'a batch of 0 entries is refused as EmptyBatchRequest',
    run: async ({ sqs, queue }) => {
      const call = sqs.sendMessageBatch({ QueueUrl: await queue(), Entries: [] });

      expect(await refusal(call)).toBeInstanceOf(EmptyBatchRequest);
    },
  },
  {
    name: 'a batch of 11 entries is refused as TooManyEntriesInBatchRequest',
    run: async ({ sqs, queue }) => {
      const Entries = entries(Array.from({ length: 11 }, (_, index) => `e${index}`));

      const call = sqs.sendMessageBatch({ QueueUrl: await queue(), Entries });

      expect(await refusal(call)).toBeInstanceOf(TooManyEntriesInBatchRequest);
    },
  },
  {
    name: 'a batch with a repeated id is refused as BatchEntryIdsNotDistinct',
    run: async ({ sqs, queue }) => {
      const call = sqs.sendMessageBatch({ QueueUrl: await queue(), Entries: entries(['a', 'a']) });

      expect(await refusal(call)).toBeInstanceOf(BatchEntryIdsNotDistinct);
    },
  },
  {
    name: 'a batch id with a dot or 81 characters is refused',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue();

      await refused(sqs.sendMessageBatch({ QueueUrl, Entries: entries(['a.b']) }), 'InvalidBatchEntryId');
      await refused(sqs.sendMessageBatch({ QueueUrl, Entries: entries(['x'.repeat(81)]) }), 'InvalidBatchEntryId');
    },
  },
  {
    name: 'a batch of more than 1 MiB in total is refused as a whole',
    run: async ({ sqs, queue, depth }) => {
      const QueueUrl = await queue();

      const call = sqs.sendMessageBatch({ QueueUrl, Entries: entries(['a', 'b'], 'x'.repeat(524_289)) });

      await refused(call, 'BatchRequestTooLong');
      expect(await depth(QueueUrl)).toEqual([0, 0, 0]);
    },
  },
  {
    name: 'a batch of 900 kB in three entries is accepted',
    run: async ({ sqs, queue }) => {
      const Entries = entries(['a', 'b', 'c'], 'x'.repeat(300_000));

      const { Successful } = await sqs.sendMessageBatch({ QueueUrl: await queue(), Entries });

      expect(Successful).toHaveLength(3);
    },
  },
  {
    name: "an entry with an invalid character fails alone, as the sender's fault",
    run: async ({ sqs, queue, bodies }) => {
      const QueueUrl = await queue();

      const { Successful, Failed } = await sqs.sendMessageBatch({
        QueueUrl,
        Entries: [
          { Id: 'good', MessageBody: 'good' },
          { Id: 'bad', MessageBody: 'a\uFFFE' },
        ],
      });

      expect(Successful?.map(({ Id }) => Id)).toEqual(['good']);
      expect(Failed?.map(({ Id, SenderFault }) => [Id, SenderFault])).toEqual([['bad', true]]);
      expect(await bodies(QueueUrl)).toEqual(['good']);
    },
  },
  {
    name: 'an entry with a delay of 901 seconds fails alone',
    run: async ({ sqs, queue }) => {
      const { Successful, Failed } = await sqs.sendMessageBatch({
        QueueUrl: await queue(),
        Entries: [
          { Id: 'good', MessageBody: 'a' },
          { Id: 'bad', MessageBody: 'a', DelaySeconds: 901 },
        ],
      });

      expect(Successful?.map(({ Id }) => Id)).toEqual(['good']);
      expect(Failed?.map(({ Id }) => Id)).toEqual(['bad']);
    },
  },
  {
    name: 'each entry has its own delay and attributes',
    run: async ({ sqs, queue, receive, depth }) => {
      const QueueUrl = await queue();
      const MessageAttributes = { kind: { DataType: 'String', StringValue: 'quick' } };

      await sqs.sendMessageBatch({
        QueueUrl,
        Entries: [
          { Id: 'now', MessageBody: 'now', MessageAttributes },
          { Id: 'later', MessageBody: 'later', DelaySeconds: 60 },
        ],
      });

      expect(await depth(QueueUrl)).toEqual([1, 0, 1]);
      const [message] = await receive(QueueUrl, { MessageAttributeNames: ['All'] });
      expect(message?.Body).toBe('now');
      expect(message?.MessageAttributes?.kind?.StringValue).toBe('quick');
    },
  },
];
