import type { ListMessageMoveTasksResultEntry } from '@aws-sdk/client-sqs';
import { eventually, type Pair, type World } from './sqs-world.ts';

/** A pair with these bodies dead in its dead-letter queue, by SQS's own move. */
export async function deadPair(world: World, ...bodies: string[]): Promise<Pair> {
  const pair = await world.pair(1);
  await kill(world, pair, bodies);
  return pair;
}

/** Lets SQS move these bodies to the dead-letter queue. */
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

/** The newest move task of a queue, when it has ended. */
export function ended({ sqs }: World, SourceArn: string): Promise<ListMessageMoveTasksResultEntry> {
  return eventually(
    async () => (await sqs.listMessageMoveTasks({ SourceArn })).Results![0]!,
    ({ Status }) => Status !== 'RUNNING' && Status !== 'CANCELLING',
  );
}
