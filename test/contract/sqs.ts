import { afterAll, beforeAll, describe, it } from 'vitest';
import { ACKNOWLEDGING } from './sqs-acknowledging.ts';
import { BATCHES } from './sqs-batches.ts';
import { DEAD_LETTERS } from './sqs-dead-letters.ts';
import { GROUPS } from './sqs-groups.ts';
import { MINUTE_LONG } from './sqs-minute.ts';
import { MOVE_ENDINGS } from './sqs-move-endings.ts';
import { MOVE_REFUSALS } from './sqs-move-refusals.ts';
import { MOVE_TASKS } from './sqs-move-tasks.ts';
import { QUEUES } from './sqs-queues.ts';
import { RECEIVING } from './sqs-receiving.ts';
import { REDRIVE_ALLOW } from './sqs-redrive-allow.ts';
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
  ...REDRIVE_ALLOW,
  ...MOVE_TASKS,
  ...MOVE_ENDINGS,
  ...MOVE_REFUSALS,
  ...GROUPS,
];

export const BEHAVIOUR_NAMES: readonly string[] = [...BEHAVIOURS, ...MINUTE_LONG].map(({ name }) => name);

export interface SqsServer {
  readonly name: string;
  /** Undefined for AWS itself, with the credentials and the region of the environment. */
  readonly endpoint: () => string | undefined;
  /** Behaviours that must fail here, so that a server that gets better is noticed as well as one that gets worse. */
  readonly knownFaults?: readonly string[];
  /** Behaviours that are not stated here. */
  readonly unsettled?: readonly string[];
  /** How often a behaviour may be tried again: on a loaded machine a slow server misses its second. */
  readonly retries?: number;
}

/** States the behaviours against a server. */
export function sqsContract(server: SqsServer, behaviours: readonly Behaviour[] = BEHAVIOURS): void {
  describe(server.name, () => {
    let world: World;
    beforeAll(() => {
      world = createWorld(server.endpoint());
    });
    afterAll(() => world.close());

    describe.concurrent('behaviours', () => {
      for (const { name, run } of behaviours.filter((behaviour) => !server.unsettled?.includes(behaviour.name))) {
        if (server.knownFaults?.includes(name)) it.fails(name, () => run(world));
        else it(name, { retry: server.retries ?? 0 }, () => run(world));
      }
    });
  });
}
