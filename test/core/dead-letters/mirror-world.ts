import { SQS } from '@aws-sdk/client-sqs';
import { afterAll, beforeEach, expect } from 'vitest';
import { type DeadLetterQueues, openDeadLetterQueues } from '../../../core/aws/dead-letter-queues.ts';
import { mirror } from '../../../core/dead-letters/mirror.ts';
import { openLog } from '../../../core/log.ts';
import { systemTime, type Time } from '../../../core/time.ts';
import { startSqs } from '../../../local/sqs/server.ts';
import { type Engine, openDatabaseEngine } from '../../support/database-engine.ts';
import { peekAtOnce } from './peek-at-once.ts';

/** A dead letter as the table has it. */
export interface DeadLetterRow {
  readonly id: string;
  readonly job_id: string | null;
  readonly status: string;
  readonly queue_name: string | null;
  readonly message_id: string | null;
  readonly raw_body: string | null;
  readonly last_error: string | null;
  readonly resolution: string | null;
  readonly seen: boolean;
}

/** The engine with its queue in memory, where carriers go, and the dead-letter queue on a server that speaks SQS. */
export interface MirrorWorld {
  readonly engine: Engine;
  readonly sqs: SQS;
  /** New for every test; `source` only makes it a dead-letter queue in the eyes of SQS. */
  dlq: string;
  source: string;
  /** What was logged since the test began. */
  readonly lines: Record<string, unknown>[];
  /** One run, in which no queue fails; `change` replaces calls to SQS. */
  mirror(change?: Partial<DeadLetterQueues>): Promise<void>;
  /** One run, whatever fails. */
  tryMirror(change?: Partial<DeadLetterQueues>, time?: Time): Promise<void>;
  /** The calls to SQS as the mirror makes them; its runs here do without the wait for the last round. */
  readonly real: DeadLetterQueues;
  /** Puts bodies into the dead-letter queue; answers their message ids. */
  put(...bodies: string[]): Promise<string[]>;
  /** A job that died at its only attempt; answers its id and the body of its message. */
  dead(): Promise<{ id: string; body: string }>;
  bodies(queueUrl: string): Promise<string[]>;
  rows(): Promise<DeadLetterRow[]>;
  logged(event: string): Record<string, unknown>[];
}

const ROWS = `
  select id::text, job_id::text, status, queue_name, message_id, raw_body, last_error, resolution,
         last_seen_at is not null as seen
    from millrace.dead_letters order by id`;

export async function openMirrorWorld(): Promise<MirrorWorld> {
  const engine = await openDatabaseEngine({ maxAttempts: 1 });
  const server = await startSqs();
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const sqs = new SQS({ endpoint: server.endpoint, region: 'us-east-1', credentials });
  const real = openDeadLetterQueues({ endpoint: server.endpoint, region: 'us-east-1', credentials });
  const lines: Record<string, unknown>[] = [];
  const log = openLog((line) => lines.push(JSON.parse(line)));
  afterAll(async () => {
    real.close();
    sqs.destroy();
    await server.close();
  });
  const world: MirrorWorld = {
    ...{ engine, sqs, lines, real, source: '', dlq: '' },
    mirror: async (change) => {
      await world.tryMirror(change);
      expect(world.logged('mirror_failed')).toEqual([]);
    },
    tryMirror: (change = {}, time = systemTime) =>
      mirror({
        ...{ db: engine.db, queues: engine.queues, log, time },
        deadLetterQueues: { ...real, peek: peekAtOnce(sqs), ...change },
      }),
    put: (...bodies) =>
      Promise.all(
        bodies.map(async (MessageBody) => (await sqs.sendMessage({ QueueUrl: world.dlq, MessageBody })).MessageId!),
      ),
    dead: async () => {
      engine.work = () => {
        throw new Error('no');
      };
      const { ids, records } = await engine.deliver(1);
      await engine.run(records);
      engine.queues.purge();
      return { id: ids[0]!, body: records[0]!.body };
    },
    bodies: async (QueueUrl) => {
      const { Messages = [] } = await sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 0 });
      return Messages.map(({ Body }) => Body!);
    },
    rows: () => engine.sql<DeadLetterRow>(ROWS),
    logged: (event) => lines.filter((line) => line.event === event),
  };
  let made = 0;
  beforeEach(async () => {
    lines.length = 0;
    made += 1;
    const create = async (QueueName: string, Attributes: Record<string, string>) =>
      (await sqs.createQueue({ QueueName, Attributes })).QueueUrl!;
    world.dlq = await create(`work-${made}-dlq`, {});
    const { Attributes } = await sqs.getQueueAttributes({ QueueUrl: world.dlq, AttributeNames: ['QueueArn'] });
    const policy = { deadLetterTargetArn: Attributes?.QueueArn, maxReceiveCount: 5 };
    world.source = await create(`work-${made}`, { RedrivePolicy: JSON.stringify(policy) });
    await engine.sql('update millrace.handlers set dead_letter_queue_url = $1', [world.dlq]);
  });
  return world;
}
