import { SQS } from '@aws-sdk/client-sqs';
import { expect, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { openQueues } from '../../../../core/aws/queues.ts';
import { dispatch } from '../../../../core/dispatch/dispatch.ts';
import { defineHandler, type HandlerDefinition } from '../../../../core/handler/handler.ts';
import { retry } from '../../../../core/handler/retry-policy.ts';
import { timingOf } from '../../../../core/handler/timing.ts';
import { openLog } from '../../../../core/log.ts';
import { registerHandlers } from '../../../../core/registry/register-handlers.ts';
import type { BatchDeps } from '../../../../core/run/batch.ts';
import { runBatch } from '../../../../core/run/run-batch.ts';
import type { SqsRecord } from '../../../../core/run/sqs-event.ts';
import { systemTime } from '../../../../core/time.ts';
import { ensureQueues, type HandlerQueues } from '../../../../local/functions/handler-queues.ts';
import { openQueueClient } from '../../../../local/lambda/queue-client.ts';
import { toSqsRecord } from '../../../../local/lambda/sqs-record.ts';
import { startSqs } from '../../../../local/sqs/server.ts';
import type { Engine } from '../../../support/database-engine.ts';

/** Two handlers, each with a queue and a dead-letter queue. The jobs of these tests belong to `work`. */
export type Name = 'work' | 'other';

/** An engine with an SQS server, which sends, receives, hides, deletes and moves real messages. */
export interface World {
  readonly engine: Engine;
  /** The SQS client of an operator. */
  readonly sqs: SQS;
  readonly work: HandlerQueues;
  readonly other: HandlerQueues;
  /** Claims and sends due jobs. */
  dispatch(): Promise<void>;
  /** Sends a body unchanged. */
  send(queueUrl: string, body: string): Promise<void>;
  /** Receives like the poller; throws unless the given number of messages is visible. */
  receive(queueUrl: string, count?: number): Promise<SqsRecord[]>;
  /** Runs one batch like function and poller, and deletes the messages that the response does not name. */
  handle(name: Name, records: readonly SqsRecord[], options?: HandleOptions): Promise<void>;
  /** Receives and runs batches until no message is visible, and returns the receive counts. */
  pump(name: Name): Promise<number[]>;
  /** Stops the clock of SQS, except for `advance`. */
  freeze(): void;
  /** Advances the clocks of database and SQS. */
  advance(seconds: number): Promise<void>;
  depth(queueUrl: string): Promise<Depth>;
}

export interface HandleOptions {
  /** The poller dies before it deletes anything. */
  readonly keep?: boolean;
  readonly deps?: Partial<BatchDeps>;
  readonly remainingMs?: () => number;
}

export interface Depth {
  readonly visible: number;
  readonly hidden: number;
}

const REGION = 'us-east-1';
const ACCOUNT = { AWS_REGION: REGION, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
const MOST_RECORDS = 10;
/** Largest number of batches; more mean an endless loop. */
const MOST_BATCHES = 30;

function definitionsOf(engine: Engine): Record<Name, HandlerDefinition> {
  const other = defineHandler({
    jobType: 'other',
    payload: z.unknown(),
    retry: retry.fixed('1m'),
    run: async ({ jobId }) => engine.runs.push(jobId),
  });
  return { work: engine.definition, other };
}

/** The visibility timeout of `work`, and a little more. */
export function hiddenSeconds({ definition }: Engine): number {
  return timingOf(definition).visibilityTimeout + 1;
}

/** Opens an empty SQS server for this test, with the queues of both handlers. */
export async function openWorld(engine: Engine): Promise<World> {
  const { db } = engine;
  const log = openLog((line) => engine.lines.push(JSON.parse(line) as Record<string, unknown>));
  const definitions = definitionsOf(engine);
  let shiftMs = 0;
  let requests = 0;
  let clock = Date.now;
  const emulator = await startSqs({ clock: () => clock() + shiftMs });
  for (const [name, value] of Object.entries(ACCOUNT)) vi.stubEnv(name, value);
  vi.stubEnv('AWS_ENDPOINT_URL_SQS', emulator.endpoint);
  const sqs = new SQS({});
  const queues = openQueues();
  const poller = openQueueClient(emulator.endpoint, REGION);
  onTestFinished(async () => {
    sqs.destroy();
    queues.close();
    poller.close();
    await emulator.close();
    vi.unstubAllEnvs();
  });
  const work = await ensureQueues(sqs, 'test', definitions.work);
  const other = await ensureQueues(sqs, 'test', definitions.other);
  await registerHandlers({ db, stage: 'local' }, [
    { definition: definitions.work, functionName: 'work', ...work },
    { definition: definitions.other, functionName: 'other', ...other },
  ]);
  const take = async (queueUrl: string) => {
    const messages = await poller.receive(queueUrl, MOST_RECORDS, 0, new AbortController().signal);
    const { queueArn } = queueUrl === other.queueUrl ? other : work;
    return messages.map((message) => toSqsRecord(message, queueArn));
  };
  const world: World = {
    ...{ engine, sqs, work, other },
    dispatch: async () => {
      const { claimed, sent } = await dispatch({ db, queues, log, random: () => 1 }, 1000);
      expect(sent, 'every claimed job is sent').toBe(claimed);
    },
    send: async (QueueUrl, MessageBody) => {
      await sqs.sendMessage({ QueueUrl, MessageBody });
    },
    receive: async (queueUrl, count = 1) => {
      const records = await take(queueUrl);
      expect(records.map(({ body }) => body)).toHaveLength(count);
      return records;
    },
    pump: async (name) => {
      const counts: number[] = [];
      for (let batch = 0; batch < MOST_BATCHES; batch++) {
        const records = await take(world[name].queueUrl);
        if (records.length === 0) return counts;
        counts.push(...records.map(({ attributes }) => Number(attributes.ApproximateReceiveCount)));
        await world.handle(name, records);
      }
      throw new Error(`messages of ${name} are redelivered without end: received ${counts} times`);
    },
    handle: async (name, records, { keep = false, deps, remainingMs = () => 600_000 } = {}) => {
      const { queueUrl } = name === 'work' ? work : other;
      const all: BatchDeps = {
        ...{ definition: definitions[name], queueUrl, db, queues, time: systemTime, log },
        ...{ random: () => 0.5, exit: () => undefined, ...deps },
      };
      const invocation = { awsRequestId: `request-${++requests}`, getRemainingTimeInMillis: remainingMs };
      const { batchItemFailures } = await runBatch(all, { Records: records }, invocation);
      const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      const done = records.filter(({ messageId }) => !failed.has(messageId));
      const handles = done.map(({ receiptHandle }) => receiptHandle);
      if (!keep && handles.length > 0) await poller.remove(all.queueUrl, handles);
    },
    freeze: () => {
      const now = Date.now();
      clock = () => now;
    },
    advance: async (seconds) => {
      shiftMs += seconds * 1000;
      await engine.advance(seconds);
    },
    depth: async (QueueUrl) => {
      const { Attributes = {} } = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ['All'] });
      return {
        visible: Number(Attributes.ApproximateNumberOfMessages),
        hidden: Number(Attributes.ApproximateNumberOfMessagesNotVisible),
      };
    },
  };
  return world;
}
