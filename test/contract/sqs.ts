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
import { type Behaviour, createWorld, type Protocol, type World } from './sqs-world.ts';

/** The behaviours of every SQS server. */
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
  /** Undefined for AWS, with the credentials and the region of the environment. */
  readonly endpoint: () => string | undefined;
  /** The protocol of the client. Default: AWS JSON 1.0, as in current SDKs. */
  readonly protocol?: Protocol;
  /** Behaviours that must fail here, so that the contract also notices a server that improves. */
  readonly knownFaults?: readonly string[];
  /** Behaviours that do not run here. */
  readonly unsettled?: readonly string[];
  /** How often a behaviour may be repeated: on a loaded machine a slow server can be a second late. */
  readonly retries?: number;
}

/** Runs a known fault until it shows: a race that the server loses at times must not pass for an improvement. */
async function repeatedly({ retries = 0 }: SqsServer, run: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; attempt <= retries; attempt++) await run();
}

/** Declares one test for each behaviour of a server. */
export function sqsContract(server: SqsServer, behaviours: readonly Behaviour[] = BEHAVIOURS): void {
  describe(server.name, () => {
    let world: World;
    beforeAll(() => {
      world = createWorld(server.endpoint(), server.protocol);
    });
    afterAll(() => world.close());

    describe.concurrent('behaviours', () => {
      for (const { name, run } of behaviours.filter((behaviour) => !server.unsettled?.includes(behaviour.name))) {
        if (server.knownFaults?.includes(name)) it.fails(name, () => repeatedly(server, () => run(world)));
        else it(name, { retry: server.retries ?? 0 }, () => run(world));
      }
    });
  });
}
