import type { ListMessageMoveTasksResultEntry } from '@aws-sdk/client-sqs';
import { eventually, type Pair, type World } from './sqs-world.ts';

/** Creates a pair whose dead-letter queue contains these bodies, moved there by SQS. */
export async function deadPair(world: World, ...bodies: string[]): Promise<Pair> {
  const pair = await world.pair(1);
  await kill(world, pair, bodies);
  return pair;
}

/** Makes SQS move these bodies to the dead-letter queue. */
export async function kill(world: World, { source, dlq }: Pair, bodies: string[]): Promise<void> {
  const [before] = await world.depth(dlq);
  await world.send(source, ...bodies);
  await world.receive(source, { VisibilityTimeout: 0 });
  await eventually(
    async () => {
      await world.receive(source);
      return world.depth(dlq);
    },
    ([visible]) => visible === before + bodies.length,
  );
}

/** Waits until the newest move task of a queue has ended, and returns it. */
export function ended({ sqs }: World, SourceArn: string): Promise<ListMessageMoveTasksResultEntry> {
  return eventually(
    async () => (await sqs.listMessageMoveTasks({ SourceArn })).Results![0]!,
    ({ Status }) => Status !== 'RUNNING' && Status !== 'CANCELLING',
  );
}
