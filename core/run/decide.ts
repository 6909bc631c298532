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

/**
 * What to do with a message whose job was not started by it.
 * - acknowledge: delete it, there is nothing left for it to do
 * - leave: report it failed and touch nothing, SQS brings it again
 * - bounce: make it visible and report it failed, until SQS itself moves it to the dead-letter queue
 * - adopt: record this delivery as the one that carries the death, then bounce
 * - redrive: an operator sent a dead job back to work
 * - release: the right job in the wrong queue; give the claim back
 */
export type Step = 'acknowledge' | 'leave' | 'bounce' | 'adopt' | 'redrive' | 'release';

export interface Decision {
  readonly step: Step;
  /** This should not happen: somebody should look. */
  readonly alarm?: string;
}

type Column = 'same' | 'other' | 'old' | 'foreign';

export interface Circumstances {
  readonly delivery: Delivery;
  readonly answer: StartAnswer;
  /** Whose queue it came from. */
  readonly handler: HandlerAddress;
}

/** The decision table (docs/lifecycle.md) for everything but a start. */
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
      // Only a row that somebody held is still dispatched after its own message asked for a start.
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
const foreign: Decision = { step: 'acknowledge', alarm: 'message of a later claim or of another database' };
/** Bouncing on would be a hot loop. */
const tooOften: Decision = {
  step: 'leave',
  alarm: 'message of a dead job was received too often: has its queue a redrive policy?',
};

function ofDeadJob(column: Column, delivery: Delivery, unrecorded: boolean): Decision {
  if (column === 'other') return { step: 'redrive' };
  if (column === 'old') return acknowledge;
  if (column === 'foreign') return foreign;
  if (delivery.receiveCount > MAX_RECEIVE_COUNT) return tooOften;
  return { step: unrecorded ? 'adopt' : 'bounce' };
}

function inWrongQueue(status: JobStatus, column: Column, delivery: Delivery): Decision {
  // Most finished jobs are not even looked up; the few that are shall be judged like them.
  if (FINISHED.includes(status)) return acknowledge;
  const alarm = "message in another handler's queue";
  if (column === 'same' && status === 'dispatched') return { step: 'release', alarm };
  if (column === 'same' && status === 'dead_letter') {
    return delivery.receiveCount > MAX_RECEIVE_COUNT ? tooOften : { step: 'bounce', alarm };
  }
  if (column === 'other' && status === 'dead_letter') return { step: 'redrive' };
  return { step: 'acknowledge', alarm };
}

/** Whether this is the row's own delivery. Equality only: no clocks are compared. */
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
