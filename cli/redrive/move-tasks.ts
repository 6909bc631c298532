import { setTimeout as wait } from 'node:timers/promises';
import type { DeadLetterQueues, MoveTask } from '../../core/aws/dead-letter-queues.ts';
import type { HandlerQueue } from '../../core/dead-letters/handler-queues.ts';
import type { CommandFailure } from '../command-failure.ts';
import { howFar, openProgress } from '../screen/progress.ts';
import { sqsFailure } from '../target/aws-failure.ts';

const POLL_MS = 500;
/** How many polls may miss the task: some servers drop a task as soon as it ends. */
const LOOKS_IN_VAIN = 10;

/** A dead-letter queue before anything is moved. */
export interface SeenQueue {
  /** The names of its handlers. */
  readonly name: string;
  readonly url: string;
  readonly arn: string;
  readonly depth: number;
  /** The newest move task. */
  readonly task: MoveTask | undefined;
  /** Why its messages cannot be moved. */
  readonly failure: CommandFailure | undefined;
}

/** A move that has ended, or did not start. */
export interface EndedMove {
  readonly name: string;
  readonly url: string;
  readonly status: MoveTask['status'] | 'NOT_STARTED' | 'UNKNOWN';
  readonly moved: number;
  readonly toMove: number;
  /** Messages that are still in the queue. */
  readonly left: number;
  readonly failureReason: string | undefined;
  readonly failure: CommandFailure | undefined;
}

function isActive(task: MoveTask | undefined): boolean {
  return task?.status === 'RUNNING' || task?.status === 'CANCELLING';
}

/** @throws CommandFailure when the request to SQS fails. */
export async function lookAt(queues: DeadLetterQueues, { url, handlers }: HandlerQueue): Promise<SeenQueue> {
  const name = handlers.join(', ');
  try {
    const state = await queues.describe(url);
    if (state === undefined) {
      const failure = sqsFailure(new Error('QueueDoesNotExist'), name);
      return { name, url, arn: '', depth: 0, task: undefined, failure };
    }
    const [task] = await queues.moveTasks(state.arn);
    const failure = isActive(task) ? sqsFailure(new Error('already a task running'), name) : undefined;
    return { name, url, arn: state.arn, depth: state.depth, task, failure };
  } catch (error) {
    throw sqsFailure(error, name);
  }
}

interface Move {
  readonly queue: SeenQueue;
  readonly handle: string;
  readonly failure: CommandFailure | undefined;
  task: MoveTask | undefined;
  /** Polls that did not find the task. */
  missed: number;
}

export interface MoveOptions {
  readonly rate: number | undefined;
  readonly interrupted: AbortSignal;
}

/** Starts a move task for each queue and waits until all end; cancels them when interrupted. */
export async function moveAll(
  queues: DeadLetterQueues,
  seen: readonly SeenQueue[],
  { rate, interrupted }: MoveOptions,
): Promise<EndedMove[]> {
  const moves = await Promise.all(seen.map((queue) => start(queues, queue, rate)));
  const started = moves.filter(({ failure }) => failure === undefined);
  const progress = openProgress();
  let cancelled = false;
  try {
    for (;;) {
      if (interrupted.aborted && !cancelled) {
        cancelled = true;
        // SQS refuses to cancel a task that has ended in the meantime.
        await Promise.all(started.map(({ handle }) => queues.cancelMove(handle).catch(() => undefined)));
      }
      await Promise.all(started.map((move) => refresh(queues, move)));
      if (started.every(hasEnded)) break;
      progress.show(`move tasks: ${howFar(sum(started, 'moved'), sum(started, 'toMove'))}`);
      await wait(POLL_MS, undefined, { signal: cancelled ? undefined : interrupted }).catch(() => undefined);
    }
  } finally {
    progress.clear();
  }
  return Promise.all(moves.map((move) => end(queues, move)));
}

async function start(queues: DeadLetterQueues, queue: SeenQueue, rate: number | undefined): Promise<Move> {
  try {
    return { queue, handle: await queues.startMove(queue.arn, rate), failure: undefined, task: undefined, missed: 0 };
  } catch (error) {
    return { queue, handle: '', failure: sqsFailure(error, queue.name), task: undefined, missed: 0 };
  }
}

/**
 * Updates the state of a task. A task loses its handle when it ends; it is then the newest task that started after the
 * move.
 */
async function refresh(queues: DeadLetterQueues, move: Move): Promise<void> {
  const tasks = await queues.moveTasks(move.queue.arn).catch((error: unknown) => {
    throw sqsFailure(error, `${move.queue.name} (its move task continues)`);
  });
  const before = move.queue.task?.startedAt.getTime() ?? 0;
  const isNew = (task: MoveTask) => task.startedAt.getTime() > before;
  const found = tasks.find(({ handle }) => handle === move.handle) ?? tasks.find(isNew);
  if (found === undefined) move.missed += 1;
  else Object.assign(move, { task: found, missed: 0 });
}

function hasEnded({ task, missed }: Move): boolean {
  return missed >= LOOKS_IN_VAIN || (missed === 0 && task !== undefined && !isActive(task));
}

function sum(moves: readonly Move[], field: 'moved' | 'toMove'): number {
  return moves.reduce((total, { task, queue }) => total + (task?.[field] ?? (field === 'toMove' ? queue.depth : 0)), 0);
}

async function end(queues: DeadLetterQueues, { queue, task, missed, failure }: Move): Promise<EndedMove> {
  const { name, url, depth } = queue;
  const after = await queues.describe(url).catch(() => undefined);
  return {
    ...{ name, url, failure, failureReason: task?.failureReason },
    status: failure ? 'NOT_STARTED' : missed > 0 || task === undefined ? 'UNKNOWN' : task.status,
    moved: task?.moved ?? 0,
    toMove: task?.toMove ?? depth,
    left: after?.depth ?? 0,
  };
}
