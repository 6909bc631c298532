import { DEAD_LETTER_RETENTION_SECONDS, OVERRUN_SECONDS, SETTLE_RESERVE_SECONDS } from '../../core/handler/timing.ts';
import type { HandlerPlan } from './handler-plan.ts';

/** Returns what is wrong with a handler, in one sentence. */
type Rule = (handler: HandlerPlan) => string | undefined;

const LAMBDA_SECONDS = 900;
const LAMBDA_NAME = 64;
const SQS_NAME = 80;
const SQS_BATCH = 10;
const MOST_BATCH = 10_000;
const MOST_WINDOW = 300;
const SOURCE_RETENTION_DAYS = 4;
const DAY = 86_400;
const LEAST_RECEIVES = 5;
const VISIBILITY_FACTOR = 6;

/** The limits of AWS, and the order that the timeouts and leases must keep. */
export const RULES: readonly Rule[] = [
  ({ queueName }) => {
    if (queueName.length <= LAMBDA_NAME) return undefined;
    return `its function name ${queueName} has ${queueName.length} characters, and Lambda allows ${LAMBDA_NAME}; shorten the job type, the routing key or the stage`;
  },
  ({ deadLetterQueueName: queue }) => {
    if (/^[A-Za-z0-9_-]+$/.test(queue) && queue.length <= SQS_NAME) return undefined;
    return `SQS refuses the queue name ${queue} (${queue.length} characters): it allows ${SQS_NAME} letters, digits, - and _; shorten the job type, the routing key or the stage`;
  },
  ({ timeout, functionTimeout }) => {
    if (functionTimeout <= LAMBDA_SECONDS) return undefined;
    const most = LAMBDA_SECONDS - (functionTimeout - Math.ceil(timeout));
    return `its timeout of ${timeout} s gives a function timeout of ${functionTimeout} s, and Lambda allows ${LAMBDA_SECONDS} s; set timeout to ${most}s or less`;
  },
  ({ timeout, functionTimeout }) => {
    const needed = timeout + OVERRUN_SECONDS + SETTLE_RESERVE_SECONDS;
    if (needed < functionTimeout) return undefined;
    return `an attempt of ${timeout} s requires ${needed} s until its outcome is stored, and Lambda stops the function after ${functionTimeout} s; raise the margin of the function timeout`;
  },
  ({ functionTimeout, runningLease }) => {
    if (functionTimeout < runningLease) return undefined;
    return `its jobs are rescued after ${runningLease} s, and its function can run for ${functionTimeout} s; make the lease longer than the function timeout`;
  },
  ({ functionTimeout, batchWindow, visibilityTimeout }) => {
    const least = VISIBILITY_FACTOR * functionTimeout + batchWindow;
    if (visibilityTimeout >= least) return undefined;
    return `the visibility timeout of its queue is ${visibilityTimeout} s, and ${VISIBILITY_FACTOR} times the function timeout of ${functionTimeout} s plus the batch window of ${batchWindow} s is ${least} s; derive the visibility timeout from the timeout`;
  },
  ({ visibilityTimeout }) => {
    if (visibilityTimeout <= DAY / 2) return undefined;
    return `the visibility timeout of its queue is ${visibilityTimeout} s, and SQS allows ${DAY / 2} s; shorten the timeout or the batch window`;
  },
  ({ maxInFlight, concurrency, batchSize, functionTimeout, batchWindow, dispatchedLease }) => {
    const longest = Math.ceil(maxInFlight / (concurrency * batchSize)) * functionTimeout + batchWindow;
    if (dispatchedLease > longest) return undefined;
    return `the last of ${maxInFlight} jobs in flight waits ${longest} s in the queue, and the dispatcher treats it as lost after ${dispatchedLease} s; lower maxInFlight or raise concurrency`;
  },
  ({ dispatchedLease, retention }) => {
    if (dispatchedLease < retention) return undefined;
    return `a message can wait in its queue for ${dispatchedLease} s, and SQS deletes it after ${retention} s; lower maxInFlight or raise concurrency`;
  },
  ({ retention }) => {
    if (retention <= SOURCE_RETENTION_DAYS * DAY) return undefined;
    return `its queue keeps messages for ${retention} s, and more than ${SOURCE_RETENTION_DAYS * DAY} s leaves a dead letter less than ten days; lower the retention`;
  },
  ({ deadLetterRetention, retention }) => {
    if (deadLetterRetention === DEAD_LETTER_RETENTION_SECONDS && deadLetterRetention > retention) return undefined;
    return `its dead-letter queue keeps messages for ${deadLetterRetention} s and its queue for ${retention} s, and SQS counts both from the time of sending; keep dead letters for ${DEAD_LETTER_RETENTION_SECONDS} s (14 days)`;
  },
  ({ maxReceiveCount }) => {
    if (maxReceiveCount >= LEAST_RECEIVES) return undefined;
    return `SQS moves its messages to the dead-letter queue after ${maxReceiveCount} receives, and throttled messages can require ${LEAST_RECEIVES}; raise maxReceiveCount`;
  },
  ({ concurrency }) => within('concurrency', concurrency, 2, 1000),
  ({ batchSize }) => within('batch.size', batchSize, 1, MOST_BATCH),
  ({ batchWindow }) => within('batch.window', batchWindow, 0, MOST_WINDOW),
  ({ batchSize, batchWindow }) => {
    if (batchSize <= SQS_BATCH || batchWindow >= 1) return undefined;
    return `its batch size of ${batchSize} is above ${SQS_BATCH}, and its batch window is ${batchWindow} s; set batch.window to 1s or more`;
  },
  ({ memoryMb }) => within('memory', memoryMb, 128, 10_240),
];

function within(field: string, value: number, least: number, most: number): string | undefined {
  if (Number.isInteger(value) && value >= least && value <= most) return undefined;
  return `its ${field} is ${value}, and AWS requires a whole number from ${least} to ${most}; change ${field}`;
}
