import { randomUUID } from 'node:crypto';
import { type Broker, deadLetterSources, queueByArn } from '../broker/broker.ts';
import { cancelTask, runTask } from '../broker/move-runner.ts';
import { type MessageMoveTask, readTaskHandle, writeTaskHandle } from '../broker/move-task.ts';
import { invalidParameter, SqsError } from '../errors.ts';
import { advanceQueue, type Queue } from '../queue/queue.ts';
import { type Action, readInteger, readString, requireString } from './input.ts';

const KEPT = 10;

export const startMessageMoveTask: Action = (broker, input) => {
  const source = requireQueue(broker, requireString(input, 'SourceArn'), 'SourceArn');
  const destinationArn = readString(input, 'DestinationArn');
  const rate = readInteger(input, 'MaxNumberOfMessagesPerSecond', 1, 500);
  if (destinationArn !== undefined) checkDestination(broker, source, destinationArn);
  if (deadLetterSources(broker, source).length === 0) {
    throw invalidParameter('SourceArn', source.arn, 'Source queue must be configured as a Dead Letter Queue.');
  }
  if (broker.tasks.some((task) => task.sourceArn === source.arn && isActive(task))) {
    throw invalidParameter(
      'SourceArn',
      source.arn,
      'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
    );
  }

  const id = randomUUID();
  const now = broker.now();
  advanceQueue(source, now);
  const task: MessageMoveTask = {
    id,
    handle: writeTaskHandle(id, source.arn),
    sourceArn: source.arn,
    ...(destinationArn === undefined ? {} : { destinationArn }),
    ...(rate === undefined ? {} : { rate }),
    startedAt: now,
    toMove: source.counts.ready,
    moved: 0,
    status: 'RUNNING',
    pace: { since: now, moved: 0 },
  };
  broker.tasks.push(task);
  broker.journal.task(task);
  forgetOldTasks(broker, source);
  runTask(broker, task);
  return { TaskHandle: task.handle };
};

export const listMessageMoveTasks: Action = (broker, input) => {
  const source = requireQueue(broker, requireString(input, 'SourceArn'), 'SourceArn');
  const max = readInteger(input, 'MaxResults', 1, KEPT) ?? 1;
  const tasks = broker.tasks.filter((task) => task.sourceArn === source.arn).slice(-max);
  return { Results: tasks.reverse().map(present) };
};

export const cancelMessageMoveTask: Action = (broker, input) => {
  const handle = requireString(input, 'TaskHandle');
  const id = readTaskHandle(handle);
  if (id === undefined) throw invalidParameter('TaskHandle', handle, 'The specified handle is not valid.');
  const task = broker.tasks.find((known) => known.id === id);
  if (task === undefined) throw new SqsError('ResourceNotFoundException', 'Task does not exist.');
  if (task.status !== 'RUNNING') {
    throw invalidParameter('TaskHandle', handle, `Only active tasks can be cancelled; this one is ${task.status}.`);
  }
  cancelTask(broker, task);
  return { ApproximateNumberOfMessagesMoved: task.moved };
};

/** Only the newest are ever listed, and the older ones of this queue have ended. */
function forgetOldTasks(broker: Broker, source: Queue): void {
  for (const task of broker.tasks.filter(({ sourceArn }) => sourceArn === source.arn).slice(0, -KEPT)) {
    broker.tasks.splice(broker.tasks.indexOf(task), 1);
    broker.journal.taskForgotten(task);
  }
}

function requireQueue(broker: Broker, arn: string, parameter: string): Queue {
  if (!/^arn:[^:]*:sqs:[^:]*:[^:]*:[^:]+$/.test(arn)) throw invalidParameter(parameter, arn, 'Not the ARN of a queue.');
  const queue = queueByArn(broker, arn);
  if (queue !== undefined) return queue;
  const message = `The resource that you specified for the ${parameter} parameter doesn't exist.`;
  throw new SqsError('ResourceNotFoundException', message);
}

function checkDestination(broker: Broker, source: Queue, arn: string): void {
  const destination = requireQueue(broker, arn, 'DestinationArn');
  if (destination === source) {
    throw invalidParameter('DestinationArn', arn, 'Source queue arn and destination queue arn must not be the same.');
  }
  if (destination.settings.fifo !== source.settings.fifo) {
    throw invalidParameter('DestinationArn', arn, 'Source and destination queue must be of the same type.');
  }
}

function isActive(task: MessageMoveTask): boolean {
  return task.status === 'RUNNING' || task.status === 'CANCELLING';
}

function present(task: MessageMoveTask): object {
  return {
    ...(task.status === 'RUNNING' ? { TaskHandle: task.handle } : {}),
    Status: task.status,
    SourceArn: task.sourceArn,
    ...(task.destinationArn === undefined ? {} : { DestinationArn: task.destinationArn }),
    ...(task.rate === undefined ? {} : { MaxNumberOfMessagesPerSecond: task.rate }),
    ApproximateNumberOfMessagesMoved: task.moved,
    ApproximateNumberOfMessagesToMove: task.toMove,
    ...(task.failureReason === undefined ? {} : { FailureReason: task.failureReason }),
    StartedTimestamp: task.startedAt,
  };
}
