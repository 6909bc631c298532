import { addQueue, type Broker } from '../broker/broker.ts';
import { runTask } from '../broker/move-runner.ts';
import type { MessageMoveTask } from '../broker/move-task.ts';
import type { Message, MessageState } from '../message/message.ts';
import { putMessage, type Queue } from '../queue/queue.ts';
import { readSettings } from '../queue/queue-settings.ts';
import type { StoreFile } from './store-file.ts';

interface MessageRow {
  readonly seq: number;
  readonly queue: string;
  readonly state: Exclude<MessageState, 'gone'>;
  readonly visible_at: number;
  readonly receipt: number;
  readonly receive_count: number;
  readonly first_received_at: number | null;
  readonly last_received_at: number | null;
  readonly fixed: string;
}

interface QueueData extends Pick<Queue, 'createdAt' | 'modifiedAt' | 'tags'> {
  readonly purgedAt?: number;
  readonly attributes: Record<string, string>;
}

const QUEUES = 'select name, data from queues';
const DELETED_QUEUES = 'select name, deleted_at from deleted_queues';
const TASKS = 'select data from tasks order by seq';
// The order in which they became visible, which is the order of service.
const MESSAGES = 'select * from messages order by visible_at, seq';

/** Fills an empty broker from the file; move tasks that were running go on. */
export function loadStore(broker: Broker, file: StoreFile, queueOf: Map<number, string>): void {
  for (const { name, data } of file.rows<{ name: string; data: string }>(QUEUES)) loadQueue(broker, name, data);
  for (const row of file.rows<{ name: string; deleted_at: number }>(DELETED_QUEUES)) {
    broker.deletedAt.set(row.name, row.deleted_at);
  }
  for (const row of file.rows<MessageRow>(MESSAGES)) {
    const queue = broker.queues.get(row.queue);
    if (queue === undefined) continue;
    queueOf.set(row.seq, row.queue);
    broker.lastSeq = Math.max(broker.lastSeq, row.seq);
    putMessage(queue, toMessage(row));
  }
  for (const { data } of file.rows<{ data: string }>(TASKS)) loadTask(broker, data);
}

function loadQueue(broker: Broker, name: string, data: string): void {
  const { attributes, purgedAt, ...rest } = JSON.parse(data) as QueueData;
  const settings = readSettings(attributes, name.endsWith('.fifo'));
  const queue = addQueue(broker, { name, settings, ...rest });
  if (purgedAt !== undefined) queue.purgedAt = purgedAt;
}

function loadTask(broker: Broker, data: string): void {
  const stored = JSON.parse(data) as Omit<MessageMoveTask, 'pace'>;
  // The time in which nothing ran does not count towards the rate.
  const task: MessageMoveTask = { ...stored, pace: { since: broker.now(), moved: stored.moved } };
  if (task.status === 'CANCELLING') task.status = 'CANCELLED';
  broker.tasks.push(task);
  if (task.status === 'RUNNING') runTask(broker, task);
}

function toMessage(row: MessageRow): Message {
  const fixed = JSON.parse(row.fixed) as Pick<Message, 'id' | 'content' | 'sentAt' | 'retainedFrom' | 'sourceArn'>;
  return {
    ...fixed,
    seq: row.seq,
    state: row.state,
    visibleAt: row.visible_at,
    receipt: row.receipt,
    receiveCount: row.receive_count,
    ...(row.first_received_at === null ? {} : { firstReceivedAt: row.first_received_at }),
    ...(row.last_received_at === null ? {} : { lastReceivedAt: row.last_received_at }),
  };
}
