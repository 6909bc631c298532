import type { JobMessage } from '../aws/message.ts';
import type { HandlerAddress } from '../handler/naming.ts';
import { MAX_RECEIVE_COUNT } from '../handler/timing.ts';
import type { JobStatus } from '../job.ts';
import type { StartAnswer } from '../jobs/start-answer.ts';

/** One SQS delivery of a readable message. */
export interface Delivery {
  readonly message: JobMessage;
  readonly messageId: string;
  readonly receiptHandle: string;
  /** SentTimestamp, milliseconds. */
  readonly sentAt: number;
  /** ApproximateReceiveCount, this delivery included. */
  readonly receiveCount: number;
}

/** What to do with a message that did not start its job. */
export type Step =
  /** Deletes the message, which is no longer required. */
  | 'acknowledge'
  /** Reports the message as failed and changes nothing, so that SQS delivers it again. */
  | 'leave'
  /** Reports the message as failed and makes it visible, until SQS moves it to the dead-letter queue. */
  | 'bounce'
  /** Records this delivery as the one that carries the dead job to the dead-letter queue, then bounces it. */
  | 'adopt'
  /** Gives the dead job fresh attempts, because an operator moved its message back to the source queue. */
  | 'redrive'
  /** Releases the job's claim, because its message is in the wrong queue. */
  | 'release';

export interface Decision {
  readonly step: Step;
  /** Set when the message is unexpected: a sentence for the error log. */
  readonly alarm?: string;
}

type Column = 'same' | 'other' | 'old' | 'foreign';

export interface Circumstances {
  readonly delivery: Delivery;
  readonly answer: StartAnswer;
  /** The handler of the queue that delivered the message. */
  readonly handler: HandlerAddress;
}

/** Applies the decision table of docs/lifecycle.md to a message that did not start its job. */
export function decide({ delivery, answer, handler }: Circumstances): Decision {
  const { row } = answer;
  const column = columnOf(delivery, answer);
  if (row === null) return answer.issued && column !== 'foreign' ? acknowledge : { step: 'leave' };
  if (row.jobType !== handler.jobType || row.routingKey !== handler.routingKey)
    return inWrongQueue(row.status, column, delivery);
  switch (row.status) {
    case 'pending':
    case 'failed':
      return column === 'foreign' ? foreign : acknowledge;
    case 'dispatched':
      // The row was locked: otherwise its own message would have started the job.
      if (column === 'foreign') return foreign;
      return column === 'old' ? acknowledge : { step: 'leave' };
    case 'running':
      if (column === 'same') return { step: 'leave' };
      if (column === 'other') return { step: 'acknowledge', alarm: 'second message under one claim of a running job' };
      return column === 'foreign' ? foreign : acknowledge;
    case 'dead_letter':
      return ofDeadJob(column, delivery, row.messageId === null);
    case 'succeeded':
    case 'skipped':
    case 'cancelled':
      return acknowledge;
  }
}

const FINISHED: readonly JobStatus[] = ['succeeded', 'skipped', 'cancelled'];
const acknowledge: Decision = { step: 'acknowledge' };
const foreign: Decision = { step: 'acknowledge', alarm: 'message from a later claim or another database' };
/** Another bounce would loop without a pause. */
const tooOften: Decision = {
  step: 'leave',
  alarm: 'message of a dead job was received too often: check the redrive policy of its queue',
};

function ofDeadJob(column: Column, delivery: Delivery, unrecorded: boolean): Decision {
  if (column === 'other') return { step: 'redrive' };
  if (column === 'old') return acknowledge;
  if (column === 'foreign') return foreign;
  if (delivery.receiveCount > MAX_RECEIVE_COUNT) return tooOften;
  return { step: unrecorded ? 'adopt' : 'bounce' };
}

function inWrongQueue(status: JobStatus, column: Column, delivery: Delivery): Decision {
  // Rows of finished jobs are rarely read, so the decision is the same with and without one.
  if (FINISHED.includes(status)) return acknowledge;
  const alarm = "message in another handler's queue";
  if (column === 'same' && status === 'dispatched') return { step: 'release', alarm };
  if (column === 'same' && status === 'dead_letter') {
    return delivery.receiveCount > MAX_RECEIVE_COUNT ? tooOften : { step: 'bounce', alarm };
  }
  if (column === 'other' && status === 'dead_letter') return { step: 'redrive' };
  return { step: 'acknowledge', alarm };
}

/** Compares the delivery with the row's own, by equality only, because clocks differ. */
function columnOf(delivery: Delivery, { row, native }: StartAnswer): Column {
  if (!native) return 'foreign';
  if (row === null) return 'same';
  const mine = BigInt(delivery.message.claimNo);
  const current = BigInt(row.claimNo ?? 0);
  if (mine < current) return 'old';
  if (mine > current) return 'foreign';
  if (row.messageId === null) return 'same';
  return row.messageId === delivery.messageId && row.sentAt === delivery.sentAt ? 'same' : 'other';
}
