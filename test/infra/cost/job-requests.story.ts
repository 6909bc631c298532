import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openDeadLetterQueues } from '../../../core/aws/dead-letter-queues.ts';
import { openQueues, type Queues } from '../../../core/aws/queues.ts';
import { mirror } from '../../../core/dead-letters/mirror.ts';
import { dispatch } from '../../../core/dispatch/dispatch.ts';
import { queueName } from '../../../core/handler/naming.ts';
import { MAX_RECEIVE_COUNT } from '../../../core/handler/timing.ts';
import { openLog } from '../../../core/log.ts';
import { openMetrics } from '../../../core/numbers/emf.ts';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { runBatch } from '../../../core/run/run-batch.ts';
import { systemTime } from '../../../core/time.ts';
import { jobRequests, LOG_BYTES, type Load } from '../../../infra/cost/job-requests.ts';
import { MIRROR_REQUESTS } from '../../../infra/plan/prices.ts';
import { Poller } from '../../../local/lambda/poller.ts';
import { openQueueClient, type QueueClient } from '../../../local/lambda/queue-client.ts';
import { startSqs } from '../../../local/sqs/server.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { eventually } from '../../support/eventually.ts';

const REGION = 'us-east-1';
const ARN = `arn:aws:sqs:${REGION}:000000000000`;
const engine = await openDatabaseEngine();
const server = await startSqs({});
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const address = { endpoint: server.endpoint, region: REGION, credentials };
const sqs = new SQSClient(address);
const queues: Queues = openQueues(address);
const deadLetterQueues = openDeadLetterQueues(address);
/** The fields that every line of a deployed function has. */
const invocation = {
  function_name: 'millrace-prod-work',
  function_request_id: '3f2c1a90-1c2d-4e5f-8a9b-0c1d2e3f4a5b',
  cold_start: false,
  xray_trace_id: '1-67891233-abcdef012345678912345678',
};
const log = openLog((line) => lines.push(line), {}, { read: () => invocation });
const counts = new Map<string, number>();
const lines: string[] = [];
let queueUrl = '';
let deadLetterQueueUrl = '';
let received = 0;
let invocations = 0;

const count = (message: unknown) => {
  const { request } = message as { request: IncomingMessage };
  const action = String(request.headers['x-amz-target'] ?? '').replace('AmazonSQS.', '');
  counts.set(action, (counts.get(action) ?? 0) + 1);
};
const counted = (action: string) => counts.get(action) ?? 0;

beforeAll(async () => {
  const name = queueName('local', engine.definition);
  const made = await sqs.send(new CreateQueueCommand({ QueueName: `${name}-dlq` }));
  const RedrivePolicy = JSON.stringify({
    deadLetterTargetArn: `${ARN}:${name}-dlq`,
    maxReceiveCount: MAX_RECEIVE_COUNT,
  });
  const source = await sqs.send(
    new CreateQueueCommand({ QueueName: name, Attributes: { RedrivePolicy, VisibilityTimeout: '60' } }),
  );
  queueUrl = source.QueueUrl!;
  deadLetterQueueUrl = made.QueueUrl!;
  const registration = { definition: engine.definition, queueUrl, deadLetterQueueUrl, functionName: name };
  await registerHandlers({ db: engine.db, stage: 'local' }, [registration]);
  subscribe('http.server.request.start', count);
});
beforeEach(() => {
  counts.clear();
  lines.length = 0;
  received = 0;
  invocations = 0;
});
afterAll(async () => {
  unsubscribe('http.server.request.start', count);
  queues.close();
  deadLetterQueues.close();
  sqs.destroy();
  await server.close();
});

/** Enqueues jobs and runs them until all have ended, as Lambda does: receive, invoke, delete. */
async function run({ jobs, batch, maxAttempts }: Pick<Load, 'jobs' | 'batch' | 'maxAttempts'>): Promise<void> {
  for (let n = 0; n < jobs; n++) await engine.enqueue({ maxAttempts });
  await dispatch({ db: engine.db, queues, log, random: () => 1 }, 1000);
  const client = openQueueClient(server.endpoint, REGION);
  const counting: QueueClient = {
    ...client,
    receive: async (...call) => {
      const messages = await client.receive(...call);
      if (messages.length > 0) received += 1;
      return messages;
    },
  };
  const windowSeconds = batch > 10 ? 1 : 0;
  const spec = { functionName: 'work', queueUrl, queueArn: `${ARN}:work`, batchSize: batch, windowSeconds };
  const poller = new Poller({
    settings: () => ({ ...spec, maximumConcurrency: 2 }),
    queues: counting,
    invoke: async (_name, payload) => ({ kind: 'success', body: JSON.stringify(await invoke(JSON.parse(payload))) }),
    onEvent: () => undefined,
  });
  poller.start();
  await eventually(async () => expect(await left()).toBe(0));
  await poller.stop();
  client.close();
}

async function invoke(event: Parameters<typeof runBatch>[1]) {
  invocations += 1;
  const deps = { definition: engine.definition, queueUrl, db: engine.db, queues, time: systemTime, log };
  const metrics = openMetrics(log, { byJobType: true, stage: 'prod' });
  return runBatch({ ...deps, metrics, random: () => 0.5, logJobStarts: true, exit: () => undefined }, event, {
    awsRequestId: `request-${invocations}`,
    getRemainingTimeInMillis: () => 600_000,
  });
}

/** Returns the number of messages in the queue of the handler. */
async function left(): Promise<number> {
  const { depth = 1 } = (await deadLetterQueues.describe(queueUrl)) ?? {};
  return depth;
}

function bytesOf(event: string): number {
  const found = lines.filter((line) => JSON.parse(line).event === event);
  return found.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
}

it.each([
  { jobs: 100, batch: 10 },
  { jobs: 20, batch: 1 },
  { jobs: 100, batch: 100 },
])('$jobs jobs in batches of $batch cause the requests of the cost model', async (given) => {
  const load = { ...given, sendBatch: 10, failing: 0, maxAttempts: 5 };

  await run(load);

  const expected = jobRequests(load);
  expect(counted('SendMessageBatch')).toBe(expected.sends);
  expect(received).toBe(expected.receives);
  expect(counted('DeleteMessageBatch')).toBe(expected.deletes);
  expect(counted('ChangeMessageVisibilityBatch')).toBe(expected.visibilities);
  expect(invocations).toBe(expected.invocations);
});

it('a dead job causes the requests of the cost model', async () => {
  engine.work = () => {
    throw new Error('refused');
  };

  await run({ jobs: 1, batch: 1, maxAttempts: 1 });

  const one = { jobs: 1, batch: 1, sendBatch: 1, maxAttempts: 1 };
  // The share that fails is below 1, so the number of deaths is that of many jobs, divided.
  const { deaths, ...expected } = jobRequests({ ...one, failing: 0.5, jobs: 2 });
  expect(deaths).toBe(1);
  expect(received).toBe(expected.receives - 1);
  expect(counted('ChangeMessageVisibilityBatch')).toBe(expected.visibilities);
  expect(counted('DeleteMessageBatch')).toBe(expected.deletes - 1);
  expect(invocations).toBe(expected.invocations - 1);
});

it('the lines of the log have the size of the cost model', async () => {
  await run({ jobs: 20, batch: 10, maxAttempts: 5 });

  const sizes = {
    attempt: (bytesOf('job_started') + bytesOf('job_succeeded')) / 20,
    batch: bytesOf('metrics') / 2,
    dispatch: bytesOf('dispatched'),
  };
  for (const [name, bytes] of Object.entries(sizes)) {
    const stated = LOG_BYTES[name as keyof typeof sizes];
    expect(Math.abs(bytes / stated - 1), `${name}: ${bytes} bytes`).toBeLessThan(0.1);
  }
});

it('the mirror requests of an empty queue what the cost model states', async () => {
  const deps = { db: engine.db, deadLetterQueues, queues, log, time: systemTime };
  const dead = await deadLetterQueues.peek(deadLetterQueueUrl, 60);
  const handles = dead.map(({ receiptHandle }) => receiptHandle);
  await deadLetterQueues.remove(deadLetterQueueUrl, handles);
  await engine.sql('delete from millrace.dead_letter_queues');
  counts.clear();

  await mirror(deps);
  const swept = [...counts.values()].reduce((sum, value) => sum + value, 0);
  counts.clear();
  await mirror(deps);
  const checked = [...counts.values()].reduce((sum, value) => sum + value, 0);

  expect(checked).toBe(MIRROR_REQUESTS.check);
  expect(swept).toBe(MIRROR_REQUESTS.check + MIRROR_REQUESTS.sweep);
});
