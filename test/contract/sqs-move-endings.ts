import { expect } from 'vitest';
import { deadPair, ended, kill } from './sqs-dead-pair.ts';
import { type Behaviour, eventually, refused } from './sqs-world.ts';

export const MOVE_ENDINGS: Behaviour[] = [
  {
    name: 'a cancelled move leaves the moved messages at their destination',
    run: async (world) => {
      const { source, dlq, dlqArn } = await deadPair(world, '1', '2', '3', '4', '5');
      const { TaskHandle } = await world.sqs.startMessageMoveTask({
        SourceArn: dlqArn,
        MaxNumberOfMessagesPerSecond: 2,
      });
      await eventually(
        () => world.depth(source),
        ([visible]) => visible >= 1,
      );

      await world.sqs.cancelMessageMoveTask({ TaskHandle });
      const task = await ended(world, dlqArn);

      const [[moved], [left]] = [await world.depth(source), await world.depth(dlq)];
      expect(task).toMatchObject({ Status: 'CANCELLED', ApproximateNumberOfMessagesMoved: moved });
      expect([moved >= 1, left >= 1, moved + left]).toEqual([true, true, 5]);
    },
  },
  {
    name: 'a move whose destination is deleted meanwhile fails and leaves the other messages',
    run: async (world) => {
      const { dlq, dlqArn } = await deadPair(world, '1', '2', '3', '4');
      const target = await world.queue();
      const DestinationArn = await world.arn(target);
      const MaxNumberOfMessagesPerSecond = 1;
      await world.sqs.startMessageMoveTask({ SourceArn: dlqArn, DestinationArn, MaxNumberOfMessagesPerSecond });
      await eventually(
        () => world.depth(target),
        ([visible]) => visible >= 1,
      );

      await world.sqs.deleteQueue({ QueueUrl: target });
      const task = await ended(world, dlqArn);

      const FailureReason = 'AWS.SimpleQueueService.NonExistentQueue';
      expect(task).toMatchObject({ Status: 'FAILED', FailureReason });
      expect((await world.depth(dlq))[0]).toBe(4 - (task.ApproximateNumberOfMessagesMoved ?? 0));
    },
  },
  {
    name: 'a message that dies again after a move names its source again and can be moved back again',
    run: async (world) => {
      const pair = await deadPair(world, 'a');
      await world.sqs.startMessageMoveTask({ SourceArn: pair.dlqArn });
      await ended(world, pair.dlqArn);

      const [moved] = await world.receive(pair.source, { VisibilityTimeout: 0 });
      await world.receive(pair.source);
      const [dead] = await world.receive(pair.dlq, { WaitTimeSeconds: 2, VisibilityTimeout: 0 });
      await world.sqs.startMessageMoveTask({ SourceArn: pair.dlqArn });
      await ended(world, pair.dlqArn);

      expect(moved?.Attributes?.DeadLetterQueueSourceArn).toBeUndefined();
      expect(dead?.Attributes?.DeadLetterQueueSourceArn).toBe(pair.sourceArn);
      expect(dead?.MessageId).toBe(moved?.MessageId);
      expect(await world.bodies(pair.source, { WaitTimeSeconds: 2 })).toEqual(['a']);
    },
  },
  {
    name: 'a message sent directly to the dead-letter queue can be moved to a named destination',
    run: async (world) => {
      const { source, sourceArn, dlq, dlqArn } = await world.pair(1);
      await world.send(dlq, 'a');

      await world.sqs.startMessageMoveTask({ SourceArn: dlqArn, DestinationArn: sourceArn });

      expect(await world.bodies(source, { WaitTimeSeconds: 5 })).toEqual(['a']);
    },
  },
  {
    name: 'a move starts with the oldest message, even after it was received and made visible',
    run: async (world) => {
      const pair = await deadPair(world, 'older');
      await kill(world, pair, ['younger']);
      const seen = await world.receive(pair.dlq, { MaxNumberOfMessages: 1, VisibilityTimeout: 0 });

      const { TaskHandle } = await world.sqs.startMessageMoveTask({
        SourceArn: pair.dlqArn,
        MaxNumberOfMessagesPerSecond: 1,
      });
      const first = await world.bodies(pair.source, { MaxNumberOfMessages: 1, WaitTimeSeconds: 5 });
      await world.sqs.cancelMessageMoveTask({ TaskHandle });

      expect(seen).toHaveLength(1);
      expect(first).toEqual(['older']);
    },
  },
  {
    name: 'ListMessageMoveTasks lists one task by default, and ten at most',
    run: async (world) => {
      const { dlqArn } = await world.pair(1);
      for (let count = 0; count < 11; count += 1) {
        await world.sqs.startMessageMoveTask({ SourceArn: dlqArn });
        await ended(world, dlqArn);
      }

      const one = await world.sqs.listMessageMoveTasks({ SourceArn: dlqArn });
      const ten = await world.sqs.listMessageMoveTasks({ SourceArn: dlqArn, MaxResults: 10 });
      const eleven = world.sqs.listMessageMoveTasks({ SourceArn: dlqArn, MaxResults: 11 });

      expect([one.Results?.length, ten.Results?.length]).toEqual([1, 10]);
      await refused(eleven, 'InvalidParameterValue');
    },
  },
];
