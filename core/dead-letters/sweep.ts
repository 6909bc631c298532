import type { DeadLetterQueues, PeekedMessage } from '../aws/dead-letter-queues.ts';
import { decodeMessage } from '../aws/message.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import { storable } from '../text.ts';
import type { Time } from '../time.ts';
import { type FoundMessage, type MirrorVerdict, recordDead } from './record-dead.ts';

interface SweepDeps {
  readonly db: Database;
  readonly deadLetterQueues: DeadLetterQueues;
  readonly log: Log;
  readonly time: Time;
}

interface SweptQueue {
  readonly url: string;
  readonly name: string;
  /** Time at which to stop receiving, by `time`. */
  readonly until: number;
}

export interface Swept {
  /** Number of messages that were received. */
  readonly found: number;
  /** Number of these that it did not delete. */
  readonly left: number;
  /** Whether the sweep continued until it received nothing new. */
  readonly covered: boolean;
}

/** Longer than a sweep. Messages of a sweep whose process dies stay hidden for this time. */
const VISIBILITY_SECONDS = 60;
/** Limit of one sweep: SQS allows 120,000 received and undeleted messages in a queue. */
const MOST = 50_000;
const PEEKS_AT_ONCE = 8;
/** Largest body that SQS accepts, in bytes. */
const LONGEST_BODY = 1_048_576;

/** The received messages of a sweep: receipt handles by message id. */
interface Received {
  readonly kept: Map<string, string>;
  readonly done: Map<string, string>;
  readonly verdicts: MirrorVerdict[];
}

/**
 * Receives until a round returns nothing new, stores the messages, deletes those whose job is no longer dead under the
 * claim that they name, and makes the others visible, even after a failure.
 */
export async function sweep(deps: SweepDeps, queue: SweptQueue): Promise<Swept> {
  const { deadLetterQueues, log } = deps;
  const received: Received = { kept: new Map(), done: new Map(), verdicts: [] };
  let covered = false;
  try {
    covered = await receiveAll(deps, queue, received);
  } finally {
    await deadLetterQueues.makeVisible(queue.url, [...received.kept.values()]).catch((error: unknown) => {
      log.warn('make_visible_failed', { queue: queue.name, error });
    });
  }
  await deadLetterQueues.remove(queue.url, [...received.done.values()]);
  const counts = Object.groupBy(received.verdicts, (verdict) => verdict);
  const fields = Object.fromEntries(Object.entries(counts).map(([verdict, of]) => [verdict, of.length]));
  log.info('mirrored', { queue: queue.name, ...fields });
  return { found: received.kept.size + received.done.size, left: received.kept.size, covered };
}

/** Returns whether every message was seen. */
async function receiveAll(
  { db, deadLetterQueues, time }: SweepDeps,
  { url, name, until }: SweptQueue,
  received: Received,
): Promise<boolean> {
  for (let width = 1; received.kept.size < MOST && time.now() < until; ) {
    const pages = await Promise.all(
      Array.from({ length: width }, () => deadLetterQueues.peek(url, VISIBILITY_SECONDS)),
    );
    const fresh = takeNew(pages.flat(), received);
    if (fresh.length === 0) return true;
    const verdicts = await recordDead(db, { url, name }, fresh.map(toFound));
    fresh.forEach(({ messageId, receiptHandle }, index) => {
      const verdict = verdicts[index] ?? 'left';
      received.verdicts.push(verdict);
      if (verdict !== 'moved_on' && verdict !== 'released') return;
      received.kept.delete(messageId);
      received.done.set(messageId, receiptHandle);
    });
    // A deep queue justifies more concurrent calls; in a shallow queue each of them would wait for a second.
    if (fresh.length >= width * 10) width = Math.min(PEEKS_AT_ONCE, width * 2);
  }
  return false;
}

/** Returns the messages that were not received before; only the newest handle of a message is valid. */
function takeNew(messages: readonly PeekedMessage[], { kept, done }: Received): PeekedMessage[] {
  return messages.filter(({ messageId, receiptHandle }) => {
    const known = done.has(messageId) ? done : kept;
    const isNew = !known.has(messageId);
    known.set(messageId, receiptHandle);
    return isNew;
  });
}

function toFound({ messageId, sentAt, body }: PeekedMessage): FoundMessage {
  const message = decodeMessage(body);
  return {
    ...{ messageId, sentAt, body: storable(body, LONGEST_BODY) },
    jobId: message?.jobId ?? null,
    claimNo: message?.claimNo ?? null,
    epoch: message?.epoch ?? null,
  };
}
