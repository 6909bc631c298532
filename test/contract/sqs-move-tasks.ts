import { expect } from 'vitest';
import { deadPair, ended, kill } from './sqs-dead-pair.ts';
import { type Behaviour, refused } from './sqs-world.ts';

export const MOVE_TASKS: Behaviour[] = [
  {
    name: 'a move task without a destination moves messages back to their source and ends COMPLETED',
    run: async (world) => {
      const { source, dlqArn, dlq } = await deadPair(world, 'a', 'b');

      await world.sqs.startMessageMoveTask({ SourceArn: dlqArn });
      const task = await ended(world, dlqArn);

      expect(task).toMatchObject({ Status: 'COMPLETED', SourceArn: dlqArn });
      expect((await world.bodies(source)).sort()).toEqual(['a', 'b']);
      expect(await world.depth(dlq)).toEqual([0, 0, 0]);
    },
  },
  {
    name: 'an ended move task reports how many messages it found and moved, and has no handle',
    run: async (world) => {
      const { dlqArn } = await deadPair(world, 'a', 'b');

      await world.sqs.startMessageMoveTask({ SourceArn: dlqArn });
      const task = await ended(world, dlqArn);

      expect(task).toMatchObject({ ApproximateNumberOfMessagesMoved: 2, ApproximateNumberOfMessagesToMove: 2 });
      expect(task.TaskHandle).toBeUndefined();
    },
  },
  {
    name: 'a moved message keeps its attributes, and has a new id, a new send time and a receive count from 1',
    run: async (world) => {
      const { source, dlqArn, dlq } = await world.pair(1);
      const MessageAttributes = { kind: { DataType: 'String', StringValue: 'x' } };
      await world.sqs.sendMessage({ QueueUrl: source, MessageBody: 'a', MessageAttributes });
      await world.receive(source, { VisibilityTimeout: 0 });
      await world.receive(source);
      const [dead] = await world.receive(dlq, { WaitTimeSeconds: 2, VisibilityTimeout: 0 });

      await world.sqs.startMessageMoveTask({ SourceArn: dlqArn });
      const [moved] = await world.receive(source, { WaitTimeSeconds: 5, MessageAttributeNames: ['All'] });

      expect(moved?.MessageId).not.toBe(dead?.MessageId);
      expect(Number(moved?.Attributes?.SentTimestamp)).toBeGreaterThan(Number(dead?.Attributes?.SentTimestamp));
      expect(moved?.Attributes?.ApproximateReceiveCount).toBe('1');
      expect(moved?.MessageAttributes?.kind?.StringValue).toBe('x');
    },
  },
  {
    name: 'a move task with a destination moves messages there',
    run: async (world) => {
      const { dlqArn } = await deadPair(world, 'a');
      const other = await world.queue();

      await world.sqs.startMessageMoveTask({ SourceArn: dlqArn, DestinationArn: await world.arn(other) });

      expect(await world.bodies(other, { WaitTimeSeconds: 5 })).toEqual(['a']);
    },
  },
  {
    name: 'a move task moves the messages of two sources each to its own',
    run: async (world) => {
      const one = await deadPair(world, 'one');
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: one.dlqArn, maxReceiveCount: 1 });
      const source = await world.queue({ RedrivePolicy });
      await kill(world, { ...one, source }, ['two']);

      await world.sqs.startMessageMoveTask({ SourceArn: one.dlqArn });
      await ended(world, one.dlqArn);

      expect(await world.bodies(one.source)).toEqual(['one']);
      expect(await world.bodies(source)).toEqual(['two']);
    },
  },
  {
    name: 'a move with a rate excludes a second task, can be cancelled, and leaves the other messages',
    run: async (world) => {
      const { source, dlqArn, dlq } = await deadPair(world, '1', '2', '3', '4');
      const start = () => world.sqs.startMessageMoveTask({ SourceArn: dlqArn, MaxNumberOfMessagesPerSecond: 1 });

      const { TaskHandle } = await start();
      await refused(start(), 'InvalidParameterValue', 'UnsupportedOperation');
      const running = (await world.sqs.listMessageMoveTasks({ SourceArn: dlqArn })).Results![0]!;
      await world.receive(source, { MaxNumberOfMessages: 1, WaitTimeSeconds: 5 });
      const cancelled = await world.sqs.cancelMessageMoveTask({ TaskHandle });
      const task = await ended(world, dlqArn);

      expect(running).toMatchObject({ Status: 'RUNNING', TaskHandle, MaxNumberOfMessagesPerSecond: 1 });
      expect(cancelled.ApproximateNumberOfMessagesMoved).toBeGreaterThanOrEqual(1);
      expect(task.Status).toBe('CANCELLED');
      expect((await world.depth(dlq))[0]).toBeGreaterThanOrEqual(1);
    },
  },
  {
    name: 'a move at 1 message per second takes at least two seconds for three messages',
    run: async (world) => {
      const { dlqArn } = await deadPair(world, '1', '2', '3');
      const start = performance.now();

      await world.sqs.startMessageMoveTask({ SourceArn: dlqArn, MaxNumberOfMessagesPerSecond: 1 });
      const task = await ended(world, dlqArn);

      expect(task).toMatchObject({ Status: 'COMPLETED', ApproximateNumberOfMessagesMoved: 3 });
      expect(performance.now() - start).toBeGreaterThan(1900);
    },
  },
  {
    name: 'a move leaves messages in flight',
    run: async (world) => {
      const { source, dlq, dlqArn } = await deadPair(world, 'a', 'b');
      const [held] = await world.bodies(dlq, { MaxNumberOfMessages: 1 });

      await world.sqs.startMessageMoveTask({ SourceArn: dlqArn });
      await ended(world, dlqArn);

      expect(await world.bodies(source)).toEqual([held === 'a' ? 'b' : 'a']);
      expect(await world.depth(dlq)).toEqual([0, 1, 0]);
    },
  },
  {
    name: 'a move without a destination fails with a reason for a message sent directly to the dead-letter queue',
    run: async (world) => {
      const { dlq, dlqArn } = await world.pair(1);
      await world.send(dlq, 'a');

      await world.sqs.startMessageMoveTask({ SourceArn: dlqArn });
      const task = await ended(world, dlqArn);

      expect(task).toMatchObject({ Status: 'FAILED', FailureReason: 'CouldNotDetermineMessageSource' });
      expect(await world.bodies(dlq)).toEqual(['a']);
    },
  },
  {
    name: 'ListMessageMoveTasks lists the last tasks of a queue, the newest first',
    run: async (world) => {
      const { dlqArn } = await deadPair(world, 'a');
      const other = await world.arn(await world.queue());
      await world.sqs.startMessageMoveTask({ SourceArn: dlqArn });
      await ended(world, dlqArn);
      await world.sqs.startMessageMoveTask({ SourceArn: dlqArn, DestinationArn: other });
      await ended(world, dlqArn);

      const { Results } = await world.sqs.listMessageMoveTasks({ SourceArn: dlqArn, MaxResults: 10 });

      expect(Results?.map((task) => task.DestinationArn)).toEqual([other, undefined]);
    },
  },
];
