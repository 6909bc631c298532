import { deadPair, ended } from './sqs-dead-pair.ts';
import { type Behaviour, refused } from './sqs-world.ts';

export const MOVE_REFUSALS: Behaviour[] = [
  {
    name: 'a move from a queue that is not a dead-letter queue is refused',
    run: async ({ sqs, queue, arn }) => {
      const SourceArn = await arn(await queue());

      await refused(sqs.startMessageMoveTask({ SourceArn }), 'InvalidParameterValue', 'UnsupportedOperation');
    },
  },
  {
    name: 'a move from a missing queue is refused as ResourceNotFoundException',
    run: async ({ sqs, queue, arn }) => {
      const SourceArn = `${await arn(await queue())}-missing`;

      await refused(sqs.startMessageMoveTask({ SourceArn }), 'ResourceNotFoundException');
    },
  },
  {
    name: 'a move at a rate of 501 is refused',
    run: async (world) => {
      const { dlqArn } = await world.pair(1);

      const call = world.sqs.startMessageMoveTask({ SourceArn: dlqArn, MaxNumberOfMessagesPerSecond: 501 });

      await refused(call, 'InvalidParameterValue');
    },
  },
  {
    name: 'cancelling a move by an invalid handle, or after its end, is refused',
    run: async (world) => {
      const { dlqArn } = await deadPair(world, 'a');
      const { TaskHandle } = await world.sqs.startMessageMoveTask({ SourceArn: dlqArn });
      await ended(world, dlqArn);

      await refused(world.sqs.cancelMessageMoveTask({ TaskHandle: 'bogus' }), 'InvalidParameterValue');
      const call = world.sqs.cancelMessageMoveTask({ TaskHandle });
      await refused(call, 'InvalidParameterValue', 'ResourceNotFoundException');
    },
  },
];
