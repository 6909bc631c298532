import { decodeMessage } from '../../../../core/aws/message.ts';
import type { BatchDeps } from '../../../../core/run/batch.ts';
import type { SqsRecord } from '../../../../core/run/sqs-event.ts';
import { type Claimed, moveBack, removeRedrivePolicy, type Status } from './job-states.ts';
import { hiddenSeconds, type Name, type World } from './world.ts';

export const COLUMNS = ['same delivery', 'another delivery', 'older claim', 'later claim', 'other epoch'] as const;
export type Column = (typeof COLUMNS)[number];

/** The job of an unreadable message. */
export const NO_JOB = '0';

/** A received message, and the function that handles it. */
export interface Scene {
  readonly jobId: string;
  /** Id of its job; null without a job. */
  readonly status: Status | null;
  readonly record: SqsRecord;
  readonly handler: Name;
  readonly queueUrl: string;
  readonly deps?: Partial<BatchDeps>;
}

export interface Way {
  /** The handler whose function gets the message; default `work`. */
  readonly to?: Name;
  /** Whether its queue has no redrive policy and this is its sixth receive. */
  readonly tooOften?: boolean;
  /** Whether it arrives within the lease of its job. */
  readonly early?: boolean;
}

/** A job in the required status. */
export interface Arranged {
  readonly status: Status | null;
  readonly claimed: Claimed;
  /** An earlier claim of the job. */
  readonly older?: Claimed | undefined;
}

/** Columns of the job's own, undeleted message. */
export function returns(column: Column): boolean {
  return column === 'same delivery' || column === 'other epoch';
}

/** Delivers the message of the column. */
export async function meet(world: World, column: Column, arranged: Arranged, way: Way = {}): Promise<Scene> {
  const { jobId } = arranged.claimed;
  const { status } = arranged;
  const { to = 'work' } = way;
  if (returns(column)) {
    // The function is misplaced: it is attached to this queue.
    const { queueUrl } = world.work;
    const record = await comeAgain(world, column, arranged, way);
    return { jobId, status, handler: to, queueUrl, record, deps: { queueUrl } };
  }
  const { queueUrl } = world[to];
  if (way.tooOften) await removeRedrivePolicy(world, to);
  if (column === 'another delivery' && status === 'dead_letter' && !way.tooOften) await moveBack(world, to);
  else await world.send(queueUrl, bodyFor(world, column, arranged));
  // Receives of functions that died before they handled the message.
  for (let n = 1; way.tooOften && n <= 5; n++) {
    await world.receive(queueUrl);
    await world.advance(hiddenSeconds(world.engine));
  }
  return { jobId, status, handler: to, queueUrl, record: await receiveOne(world, queueUrl) };
}

async function comeAgain(world: World, column: Column, { status, claimed }: Arranged, way: Way): Promise<SqsRecord> {
  const { queueUrl } = world.work;
  if (way.tooOften) for (let n = 2; n <= 5; n++) await world.handle('work', await world.receive(queueUrl));
  if (column === 'other epoch') await world.engine.sql('select millrace.renew_epoch()');
  if (way.early) await show(world, claimed.record);
  else if (status !== 'dead_letter') await world.advance(hiddenSeconds(world.engine));
  return receiveOne(world, queueUrl);
}

/** Makes a message of `work` visible at once. */
export async function show({ sqs, work }: World, { receiptHandle }: SqsRecord): Promise<void> {
  const hidden = { QueueUrl: work.queueUrl, ReceiptHandle: receiptHandle };
  await sqs.changeMessageVisibility({ ...hidden, VisibilityTimeout: 0 });
}

export async function receiveOne(world: World, queueUrl: string): Promise<SqsRecord> {
  const [record] = await world.receive(queueUrl);
  return record!;
}

/** A message other than the job's own: late, duplicated, or of a claim that this database never made. */
export function bodyFor({ engine }: World, column: Column, { claimed, older }: Omit<Arranged, 'status'>): string {
  if (column === 'older claim') return older!.record.body;
  if (column === 'another delivery') return claimed.record.body;
  const { jobId, claimNo, epoch } = decodeMessage(claimed.record.body)!;
  return engine.body(jobId, String(BigInt(claimNo) + 1n), epoch);
}
