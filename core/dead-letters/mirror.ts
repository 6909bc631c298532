import { inParallel } from '../aws/batches.ts';
import type { DeadLetterQueues, MoveTask, QueueState } from '../aws/dead-letter-queues.ts';
import type { Queues } from '../aws/queues.ts';
import { queueNameOf, stageOf } from '../handler/naming.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../numbers/emf.ts';
import type { Database } from '../postgres/database.ts';
import type { Time } from '../time.ts';
import { carry } from './carriers.ts';
import { closeGoneStrays, findMirroredQueues, type MirroredQueue, storeCheck, storeSweep } from './mirrored-queues.ts';
import { sweep } from './sweep.ts';

export interface MirrorDeps {
  readonly db: Database;
  readonly deadLetterQueues: DeadLetterQueues;
  /** Source queues, to which carriers are sent. */
  readonly queues: Pick<Queues, 'send'>;
  readonly log: Log;
  readonly time: Time;
  readonly metrics?: Metrics;
}

/** Longest time between two sweeps: the depth does not change if as many messages leave a queue as arrive. */
const SWEEP_EVERY_SECONDS = 15 * 60;
/** Longest time that one run receives; messages are hidden for 60 s, and must be visible again before that. */
const WINDOW_MS = 40_000;
const QUEUES_AT_ONCE = 4;
/** Time after the window in which strays may be closed, and then the search for missing messages may continue. */
const CLOSE_MS = 2_000;
const CARRY_MS = 5_000;

/**
 * Mirrors every dead-letter queue in the table. It deletes only messages whose job is no longer dead under the
 * claim that they name. A failure of one queue does not affect the others.
 */
export async function mirror(deps: MirrorDeps): Promise<void> {
  const until = deps.time.now() + WINDOW_MS;
  const queues = await findMirroredQueues(deps.db, SWEEP_EVERY_SECONDS);
  await inParallel(queues, QUEUES_AT_ONCE, (queue) =>
    mirrorQueue(deps, queue, until).catch((error: unknown) => {
      deps.log.error('mirror_failed', { queue: queueNameOf(queue.url), error });
    }),
  );
  await carry(deps, until + CARRY_MS);
}

async function mirrorQueue(deps: MirrorDeps, queue: MirroredQueue, until: number): Promise<void> {
  const { db, deadLetterQueues, log } = deps;
  const { url } = queue;
  const name = queueNameOf(url);
  const state = await deadLetterQueues.describe(url);
  if (state === undefined) {
    const command = `npx cdk deploy -c stage=${stageOf(name)} --revert-drift`;
    const reason = `SQS cannot keep the messages of dead jobs: ${command} creates the queue again`;
    log.error('dead_letter_queue_missing', { queue: name, reason });
    return;
  }
  const { depth, retentionSeconds } = state;
  deps.metrics?.put({ DeadLetterMessages: depth }, queue.jobType);
  if (depth === queue.seen && !queue.due) {
    if (depth !== queue.depth) await storeCheck(db, url, { depth, moving: false, movedAt: undefined });
    return;
  }
  const tasks = await tasksOf(deps, name, state);
  const moving = tasks?.some(({ status }) => status === 'RUNNING' || status === 'CANCELLING') ?? false;
  // Move tasks that moved no message are ignored.
  const movedAt = tasks?.find(({ moved }) => moved > 0)?.startedAt;
  const begunAt = await storeCheck(db, url, { depth, moving, movedAt });
  // A move task receives messages too, and would miss those that a sweep hides.
  if (moving) return;
  const swept = await sweep(deps, { url, name, until });
  // Without the list of move tasks, no message can be called missing.
  const complete = swept.covered && swept.found >= depth && tasks !== undefined;
  await storeSweep(db, { url, name, begunAt, complete, left: swept.left, retentionSeconds });
  if (!swept.covered) log.warn('mirror_not_covered', { queue: name, depth, seen: swept.found });
  await closeGoneStrays(db, { url, name, retentionSeconds }, () => deps.time.now() < until + CLOSE_MS);
}

/** Returns the move tasks of a queue, the newest first; undefined when the server does not list them. */
async function tasksOf(
  { deadLetterQueues, log }: MirrorDeps,
  name: string,
  { arn }: QueueState,
): Promise<readonly MoveTask[] | undefined> {
  return deadLetterQueues.moveTasks(arn).catch((error: unknown) => {
    log.warn('move_tasks_unknown', { queue: name, error });
    return undefined;
  });
}
