import { type Broker, nextIdentity, queueByArn } from '../broker.ts';
import { type Message, newMessage } from '../queue/message.ts';
import { putMessage, type Queue } from '../queue/queue.ts';
import { allowance, type MoveTask } from './move-task.ts';
import { createTakeOldest, type TakeOldest } from './oldest-first.ts';

const STEP_MS = 25;
const MOST_A_STEP = 50;

/** Works a RUNNING task off in steps until its end. Nothing moves before the caller has answered its client. */
export function runTask(broker: Broker, task: MoveTask): void {
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
export function cancelTask(broker: Broker, task: MoveTask): void {
  task.status = 'CANCELLING';
  broker.journal.task(task);
}

/** One step of a task at the present moment. */
function step(broker: Broker, task: MoveTask, take: TakeOldest): void {
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

function moveOne(broker: Broker, task: MoveTask, source: Queue, take: TakeOldest): void {
  const now = broker.now();
  const message = task.moved < task.toMove ? take(source, now) : undefined;
  if (message === undefined) {
    task.status = 'COMPLETED';
    return;
  }
  const arn = task.destinationArn ?? message.sourceArn;
  const destination = arn === undefined ? undefined : queueByArn(broker, arn);
  if (destination === undefined) {
    giveBack(source, message, now);
    fail(task, arn === undefined ? 'CouldNotDetermineMessageSource' : 'AWS.SimpleQueueService.NonExistentQueue');
    return;
  }
  putMessage(destination, newMessage(nextIdentity(broker), message.content, now, destination.settings.delayMs));
  task.moved += 1;
  broker.polls.poke(destination);
}

function giveBack(source: Queue, message: Message, now: number): void {
  putMessage(source, { ...message, state: 'ready', visibleAt: now });
}

function fail(task: MoveTask, reason: string): void {
  task.status = 'FAILED';
  task.failureReason = reason;
}
