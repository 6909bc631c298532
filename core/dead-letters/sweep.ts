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
  /** When to stop receiving, by `time`. */
  readonly until: number;
}

export interface Swept {
  /** Messages that were there. */
  readonly found: number;
  /** It went on until nothing new came. */
  readonly covered: boolean;
}

/** Longer than a sweep takes. One that dies in the middle hides what it holds for so long. */
const VISIBILITY_SECONDS = 60;
/** SQS lets 120,000 messages of a queue be received and not given back. */
const MOST = 50_000;
const PEEKS_AT_ONCE = 8;
/** SQS takes no longer body, in bytes. */
const LONGEST_BODY = 1_048_576;

/** What a sweep has in its hands: handles of messages by id. */
interface Hands {
  readonly kept: Map<string, string>;
  readonly done: Map<string, string>;
  readonly verdicts: MirrorVerdict[];
}

/**
 * Receives until a round brings nothing new, notes what it finds, deletes what has moved on and gives the rest back,
 * also when it fails half-way.
 */
export async function sweep(deps: SweepDeps, queue: SweptQueue): Promise<Swept> {
  const { deadLetterQueues, log } = deps;
  const hands: Hands = { kept: new Map(), done: new Map(), verdicts: [] };
  let covered = false;
  try {
    covered = await receiveAll(deps, queue, hands);
  } finally {
    await deadLetterQueues.makeVisible(queue.url, [...hands.kept.values()]).catch((error: unknown) => {
      log.warn('make_visible_failed', { queue: queue.name, error });
    });
  }
  await deadLetterQueues.remove(queue.url, [...hands.done.values()]);
  const counts = Object.groupBy(hands.verdicts, (verdict) => verdict);
  const fields = Object.fromEntries(Object.entries(counts).map(([verdict, of]) => [verdict, of.length]));
  log.info('mirrored', { queue: queue.name, ...fields });
  return { found: hands.kept.size + hands.done.size, covered };
}

/** Answers whether everything was seen. */
async function receiveAll(
  { db, deadLetterQueues, time }: SweepDeps,
  { url, name, until }: SweptQueue,
  hands: Hands,
): Promise<boolean> {
  for (let width = 1; hands.kept.size < MOST && time.now() < until; ) {
    const pages = await Promise.all(
      Array.from({ length: width }, () => deadLetterQueues.peek(url, VISIBILITY_SECONDS)),
    );
    const fresh = takeNew(pages.flat(), hands);
    if (fresh.length === 0) return true;
    const verdicts = await recordDead(db, { url, name }, fresh.map(toFound));
    fresh.forEach(({ messageId, receiptHandle }, index) => {
      const verdict = verdicts[index] ?? 'left';
      hands.verdicts.push(verdict);
      if (verdict !== 'moved_on' && verdict !== 'released') return;
      hands.kept.delete(messageId);
      hands.done.set(messageId, receiptHandle);
    });
    // A deep queue is worth more calls at once; a shallow one is not worth a second of each.
    if (fresh.length >= width * 10) width = Math.min(PEEKS_AT_ONCE, width * 2);
  }
  return false;
}

/** Of a message that came again only the newest handle is good. */
function takeNew(messages: readonly PeekedMessage[], { kept, done }: Hands): PeekedMessage[] {
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
