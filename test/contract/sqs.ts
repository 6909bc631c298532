import { afterAll, beforeAll, describe, it } from 'vitest';
import { ACKNOWLEDGING } from './sqs-acknowledging.ts';
import { BATCHES } from './sqs-batches.ts';
import { DEAD_LETTERS } from './sqs-dead-letters.ts';
import { GROUPS } from './sqs-groups.ts';
import { MOVE_REFUSALS } from './sqs-move-refusals.ts';
import { MOVE_TASKS } from './sqs-move-tasks.ts';
import { QUEUES } from './sqs-queues.ts';
import { RECEIVING } from './sqs-receiving.ts';
import { SENDING } from './sqs-sending.ts';
import { type Behaviour, createWorld, type World } from './sqs-world.ts';

/** What any SQS does, by name. */
const BEHAVIOURS: readonly Behaviour[] = [
  ...QUEUES,
  ...SENDING,
  ...RECEIVING,
  ...ACKNOWLEDGING,
  ...BATCHES,
  ...DEAD_LETTERS,
  ...MOVE_TASKS,
  ...MOVE_REFUSALS,
  ...GROUPS,
];

export const BEHAVIOUR_NAMES: readonly string[] = BEHAVIOURS.map(({ name }) => name);

/**
 * States the behaviours against the server at `endpoint`. Those named in `knownFaults` must fail there, so that a
 * server that gets better is noticed as well as one that gets worse. Those in `unsettled` are not stated.
 */
export function sqsContract(
  describeName: string,
  endpoint: () => string,
  knownFaults: readonly string[] = [],
  unsettled: readonly string[] = [],
): void {
  describe(describeName, () => {
    let world: World;
    beforeAll(() => {
      world = createWorld(endpoint());
    });
    afterAll(() => world.sqs.destroy());

    describe.concurrent('behaviours', () => {
      for (const { name, run } of BEHAVIOURS.filter((behaviour) => !unsettled.includes(behaviour.name))) {
        const state = knownFaults.includes(name) ? it.fails : it;
        state(name, () => run(world));
      }
    });
  });
}
