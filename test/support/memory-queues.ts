import type { Outgoing, Queues, SendVerdict } from '../../core/aws/queues.ts';
import { MAX_RECEIVE_COUNT } from '../../core/handler/timing.ts';
import type { SqsRecord } from '../../core/run/sqs-event.ts';

/** The fate of a message: a verdict, or `late` for one that SQS accepted although the caller got no answer. */
export type Fate = SendVerdict['kind'] | 'late';

interface Held {
  readonly messageId: string;
  readonly body: string;
  readonly sentAt: number;
  receiveCount: number;
  visible: boolean;
}

/** An SQS in memory, which tests can make fail. Messages stay until the answer of a batch deletes them. */
export interface MemoryQueues extends Queues {
  /** Decides the fate of every message sent; default `sent`. */
  fate: (message: Outgoing) => Fate;
  /** Called before and after every call, which throws the same error: a process that dies at that moment. */
  hook: (moment: 'before send' | 'after send' | 'before visible' | 'after visible') => void | Promise<void>;
  /** Receives up to `most` visible messages; moves those received too often to the dead-letter queue. */
  receive(queueUrl: string, most?: number): SqsRecord[];
  /** `maxReceiveCount` of the queues' redrive policy. */
  receiveLimit: number;
  /** Deletes the messages that the answer does not list as failed. */
  acknowledge(queueUrl: string, records: readonly SqsRecord[], failed: readonly string[]): void;
  /** Ends all visibility timeouts. */
  showAll(): void;
  /** Sends a body from outside, or as a copy with a new id and send time. */
  put(queueUrl: string, body: string): void;
  purge(): void;
  /** Moves all messages from the dead-letter queue back with new ids and send times, as the AWS console does. */
  redriveAll(queueUrl: string): void;
  bodies(queueUrl: string): string[];
  deadBodies(queueUrl: string): string[];
  /** Receipt handles that were made visible, in order. */
  readonly shown: string[];
}

export function openMemoryQueues(): MemoryQueues {
  const live = new Map<string, Held[]>();
  const dead = new Map<string, Held[]>();
  let last = 0;
  const of = (queues: Map<string, Held[]>, queueUrl: string) => {
    if (!queues.has(queueUrl)) queues.set(queueUrl, []);
    return queues.get(queueUrl)!;
  };
  const all = () => [...live.values()].flat();
  const put = (queueUrl: string, body: string) => {
    last += 1;
    const message = { messageId: `m-${last}`, body, sentAt: 1_800_000_000_000 + last, receiveCount: 0, visible: true };
    of(live, queueUrl).push(message);
  };
  const toRecord = (message: Held): SqsRecord => ({
    messageId: message.messageId,
    receiptHandle: `r-${message.messageId}-${message.receiveCount}`,
    body: message.body,
    attributes: { ApproximateReceiveCount: String(message.receiveCount), SentTimestamp: String(message.sentAt) },
  });
  const queues: MemoryQueues = {
    fate: () => 'sent',
    hook: () => undefined,
    receiveLimit: MAX_RECEIVE_COUNT,
    shown: [],
    put,
    send: async (queueUrl, messages) => {
      await queues.hook('before send');
      const verdicts = messages.map((message): SendVerdict => {
        const fate = queues.fate(message);
        if (fate === 'sent' || fate === 'late') put(queueUrl, message.body);
        return {
          id: message.id,
          kind: fate === 'late' ? 'unknown' : fate,
          reason: fate === 'sent' ? '' : `it was ${fate}`,
        };
      });
      await queues.hook('after send');
      return verdicts;
    },
    makeVisible: async (_queueUrl, receiptHandles) => {
      await queues.hook('before visible');
      queues.shown.push(...receiptHandles);
      for (const message of all()) message.visible ||= receiptHandles.includes(toRecord(message).receiptHandle);
      await queues.hook('after visible');
    },
    receive: (queueUrl, most = 10) => {
      const taken = of(live, queueUrl)
        .filter(({ visible }) => visible)
        .slice(0, most);
      for (const message of taken) message.receiveCount += 1;
      const spent = taken.filter(({ receiveCount }) => receiveCount > queues.receiveLimit);
      of(dead, queueUrl).push(...spent);
      live.set(
        queueUrl,
        of(live, queueUrl).filter((message) => !spent.includes(message)),
      );
      const given = taken.filter((message) => !spent.includes(message));
      for (const message of given) message.visible = false;
      return given.map(toRecord);
    },
    acknowledge: (queueUrl, records, failed) => {
      const gone = new Set(records.map(({ messageId }) => messageId).filter((id) => !failed.includes(id)));
      live.set(
        queueUrl,
        of(live, queueUrl).filter(({ messageId }) => !gone.has(messageId)),
      );
    },
    showAll: () => {
      for (const message of all()) message.visible = true;
    },
    purge: () => {
      live.clear();
      dead.clear();
    },
    redriveAll: (queueUrl) => {
      const bodies = of(dead, queueUrl).map(({ body }) => body);
      dead.set(queueUrl, []);
      for (const body of bodies) put(queueUrl, body);
    },
    bodies: (queueUrl) => of(live, queueUrl).map(({ body }) => body),
    deadBodies: (queueUrl) => of(dead, queueUrl).map(({ body }) => body),
    close: () => undefined,
  };
  return queues;
}
