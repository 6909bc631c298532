import { onTestFinished } from 'vitest';
import { type DeadLetterQueues, openDeadLetterQueues } from '../../../core/aws/dead-letter-queues.ts';
import { openQueues } from '../../../core/aws/queues.ts';
import { mirror } from '../../../core/dead-letters/mirror.ts';
import { openLog } from '../../../core/log.ts';
import type { SqsRecord } from '../../../core/run/sqs-event.ts';
import { systemTime } from '../../../core/time.ts';
import { openQueueClient } from '../../../local/lambda/queue-client.ts';
import { toSqsRecord } from '../../../local/lambda/sqs-record.ts';
import type { Engine } from '../../support/database-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { openWorld, type World } from '../run/messages/world.ts';
import { peekAtOnce } from './peek-at-once.ts';

/** A dead letter as the table has it. */
export interface DeadLetterRow {
  readonly job_id: string | null;
  readonly status: string;
  readonly message_id: string | null;
  readonly raw_body: string | null;
  readonly last_error: string | null;
  readonly seen: boolean;
}

/** Real messages, and a mirror that looks at where they end. */
export interface DeadLetterWorld extends World {
  /** One run of the mirror, without the wait for its last round; `change` replaces calls to SQS. */
  mirror(change?: Partial<DeadLetterQueues>): Promise<void>;
  /** Receives up to ten messages of `work`, however many there are. */
  take(): Promise<SqsRecord[]>;
  /** Jobs whose only attempt fails, each with its message in the dead-letter queue; answers their ids. */
  die(count: number): Promise<string[]>;
  /** Starts a move task without destination, as the console does, and answers how many it moved. */
  moveTask(): Promise<number>;
  /** Lets the function handle all messages that are visible, dispatches what is due, and lets it handle those. */
  workOff(): Promise<void>;
  rows(): Promise<DeadLetterRow[]>;
}

const ROWS = `
  select job_id::text, status, message_id, raw_body, last_error, last_seen_at is not null as seen
    from millrace.dead_letters order by id`;

/** The engine must have been opened with one attempt a job. */
export async function openDeadLetterWorld(engine: Engine): Promise<DeadLetterWorld> {
  const world = await openWorld(engine);
  const { sqs, work } = world;
  const real = openDeadLetterQueues();
  const queues = openQueues();
  const log = openLog((line) => engine.lines.push(JSON.parse(line) as Record<string, unknown>));
  onTestFinished(() => {
    real.close();
    poller.close();
    queues.close();
  });
  const poller = openQueueClient(process.env.AWS_ENDPOINT_URL_SQS as string, 'us-east-1');
  const workOff = async () => {
    await world.pump('work');
    await world.dispatch();
    await world.pump('work');
  };
  return {
    ...world,
    mirror: (change) => {
      const deadLetterQueues = { ...real, peek: peekAtOnce(sqs), ...change };
      return mirror({ db: engine.db, deadLetterQueues, queues, log, time: systemTime });
    },
    take: async () => {
      const messages = await poller.receive(work.queueUrl, 10, 0, new AbortController().signal);
      return messages.map((message) => toSqsRecord(message, work.queueArn));
    },
    die: async (count) => {
      const { work: before } = engine;
      engine.work = () => Promise.reject(new Error('no'));
      const ids: string[] = [];
      for (let n = 0; n < count; n++) ids.push(await engine.enqueue());
      await workOff();
      engine.work = before;
      return ids;
    },
    moveTask: async () => {
      const command = { QueueUrl: work.deadLetterQueueUrl, AttributeNames: ['QueueArn' as const] };
      const SourceArn = (await sqs.getQueueAttributes(command)).Attributes?.QueueArn;
      const { TaskHandle } = await sqs.startMessageMoveTask({ SourceArn });
      return eventually(async () => {
        const { Results = [] } = await sqs.listMessageMoveTasks({ SourceArn, MaxResults: 1 });
        if (Results[0]?.Status !== 'COMPLETED') throw new Error(`${TaskHandle} is ${Results[0]?.Status}`);
        return Results[0].ApproximateNumberOfMessagesMoved ?? 0;
      });
    },
    workOff,
    rows: () => engine.sql<DeadLetterRow>(ROWS),
  };
}
