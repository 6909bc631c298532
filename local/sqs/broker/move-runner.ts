import { type Message, newMessage } from '../message/message.ts';
import { advanceQueue, forget, putMessage, type Queue } from '../queue/queue.ts';
import { takeForMove } from '../queue/queue-operations.ts';
import { type Broker, nextIdentity, queueByArn } from './broker.ts';
import { allowance, type MessageMoveTask } from './move-task.ts';

const STEP_MS = 25;
const MOST_A_STEP = 50;

/** Works a RUNNING task off in steps until its end. Nothing moves before the caller has answered its client. */
export function runTask(broker: Broker, task: MessageMoveTask): void {
  const take = createTakeOldest();
  const work = () => {
    if (broker.stopped) return;
    step(broker, task, take);
    broker.journal.task(task);
    void broker.journal.committed();
    if (task.status === 'RUNNING') setTimeout(work, STEP_MS).unref();
  };
  setTimeout(work, STEP_MS).unref();
}

/** Stops a RUNNING task; what has moved stays moved. */
export function cancelTask(broker: Broker, task: MessageMoveTask): void {
  task.status = 'CANCELLING';
  broker.journal.task(task);
}

/** One step of a task at the present moment. */
function step(broker: Broker, task: MessageMoveTask, take: TakeOldest): void {
  if (task.status === 'CANCELLING') task.status = 'CANCELLED';
  if (task.status !== 'RUNNING') return;
  const source = queueByArn(broker, task.sourceArn);
  if (source === undefined) {
    fail(task, 'AWS.SimpleQueueService.NonExistentQueue');
    return;
  }
  const allowed = allowance(task, broker.now(), MOST_A_STEP);
  for (let count = 0; count < allowed && task.status === 'RUNNING'; count += 1) {
    moveOne(broker, task, source, take);
  }
  if (task.status === 'RUNNING' && task.moved >= task.toMove) task.status = 'COMPLETED';
}

function moveOne(broker: Broker, task: MessageMoveTask, source: Queue, take: TakeOldest): void {
  const now = broker.now();
  const message = task.moved < task.toMove ? take(source, now) : undefined;
  if (message === undefined) {
    task.status = 'COMPLETED';
    return;
  }
  const arn = task.destinationArn ?? message.sourceArn;
  const destination = arn === undefined ? undefined : queueByArn(broker, arn);
  if (destination === undefined) {
    returnToSource(source, message, now);
    fail(task, arn === undefined ? 'CouldNotDetermineMessageSource' : 'AWS.SimpleQueueService.NonExistentQueue');
    return;
  }
  putMessage(destination, newMessage(nextIdentity(broker), message.content, now, destination.settings.delayMs));
  task.moved += 1;
  broker.polls.poke(destination);
}

function returnToSource(source: Queue, message: Message, now: number): void {
  putMessage(source, { ...message, state: 'ready', visibleAt: now });
}

function fail(task: MessageMoveTask, reason: string): void {
  task.status = 'FAILED';
  task.failureReason = reason;
}

/** Takes the messages of a queue for a move task, one by one; undefined when none is visible. */
type TakeOldest = (queue: Queue, now: number) => Message | undefined;

/**
 * A redrive begins with the oldest message (SQS developer guide, dead-letter queue redrive): one that was looked at and
 * given back has lost its place in line, not its age. A FIFO queue keeps its own order.
 */
function createTakeOldest(): TakeOldest {
  let waiting: Message[] = [];
  return (queue, now) => {
    if (queue.settings.fifo) return takeForMove(queue, now);
    advanceQueue(queue, now);
    const next = nextReady(waiting);
    if (next !== undefined) return forget(queue, next);
    // Sorted anew only when the last order is used up, so a move costs each message once on average.
    waiting = [...queue.messages.values()].filter(isReady).sort(youngestFirst);
    const first = nextReady(waiting);
    return first === undefined ? undefined : forget(queue, first);
  };
}

function nextReady(waiting: Message[]): Message | undefined {
  for (let message = waiting.pop(); message !== undefined; message = waiting.pop()) {
    if (isReady(message)) return message;
  }
  return undefined;
}

function isReady(message: Message): boolean {
  return message.state === 'ready';
}

function youngestFirst(one: Message, other: Message): number {
  return other.sentAt - one.sentAt || other.seq - one.seq;
}
