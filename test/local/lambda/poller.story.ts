import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { retryDelayMs } from '../../../local/lambda/retry-throttled.ts';
import type { MappingSpec } from '../../../local/lambda/specs.ts';
import { eventually } from '../../support/eventually.ts';
import { openQueue, type QueueFixture } from './queue-fixture.ts';
import { handler, openRunner, type RunnerFixture } from './runner-fixture.ts';

let queue: QueueFixture;
let fixture: RunnerFixture;
beforeEach(async () => {
  queue = await openQueue();
  fixture = await openRunner(queue.endpoint);
});
afterEach(async () => {
  await fixture.close();
  await queue.close();
});

/** Adds a function `f` with this handler body, and a mapping to it. */
async function map(body: string, mapping: Partial<MappingSpec> = {}, timeoutSeconds = 5): Promise<string> {
  await fixture.add('f', handler(body), { timeoutSeconds });
  const { url: queueUrl, arn: queueArn } = queue;
  const defaults = { functionName: 'f', batchSize: 10, windowSeconds: 0, maximumConcurrency: 2 };
  return fixture.runner.addMapping({ ...defaults, queueUrl, queueArn, ...mapping });
}
const lines = () => fixture.lines();
const PRINT = 'console.log(event.Records.map(({ body }) => body).join());';

it('a message is delivered to the function and deleted', async () => {
  await map(PRINT);

  await queue.send('hello');

  await eventually(() => expect(lines()).toEqual(['hello']));
  await eventually(async () => expect(await queue.depth()).toEqual({ visible: 0, inFlight: 0 }));
});

it('the event has the format of AWS', async () => {
  await map('console.log(JSON.stringify(event));');

  await queue.client.send(
    new SendMessageCommand({
      QueueUrl: queue.url,
      MessageBody: 'b',
      MessageAttributes: { a: { DataType: 'String', StringValue: 'v' } },
    }),
  );

  const event = await eventually(() => JSON.parse(lines()[0]!) as unknown);
  expect(event).toEqual({
    Records: [
      {
        messageId: expect.any(String),
        receiptHandle: expect.any(String),
        body: 'b',
        attributes: {
          ApproximateReceiveCount: '1',
          SentTimestamp: expect.stringMatching(/^\d{13}$/),
          ApproximateFirstReceiveTimestamp: expect.stringMatching(/^\d{13}$/),
          SenderId: expect.any(String),
        },
        messageAttributes: { a: { stringValue: 'v', stringListValues: [], binaryListValues: [], dataType: 'String' } },
        md5OfMessageAttributes: expect.stringMatching(/^[0-9a-f]{32}$/),
        md5OfBody: '92eb5ffee6ae2fec3ad71c777531578f',
        eventSource: 'aws:sqs',
        eventSourceARN: queue.arn,
        awsRegion: 'us-east-1',
      },
    ],
  });
});

it('only the messages that a response names stay in the queue, hidden for their visibility timeout', async () => {
  await map(
    `const bad = event.Records.filter(({ body }) => body === 'bad');
     for (const { body, attributes } of event.Records) console.log(body, attributes.ApproximateReceiveCount);
     return { batchItemFailures: bad.map(({ messageId }) => ({ itemIdentifier: messageId })) };`,
  );

  await queue.setVisibility(2);
  await queue.sendBatch(['good', 'bad', 'fine']);

  await eventually(() => expect(lines()).toHaveLength(3));
  await eventually(async () => expect(await queue.depth()).toEqual({ visible: 0, inFlight: 1 }));
  await eventually(() => expect(lines().slice(3)).toEqual(['bad 2']));
});

it.each([
  ['throws', "throw new Error('no');", 5],
  ['exits', 'process.exit(0);', 5],
  ['times out', 'for (;;);', 0.3],
  ['returns an item with another key', "return { batchItemFailures: [{ id: 'x' }] };", 5],
])('a function that %s leaves the whole batch in the queue', async (_, body, timeoutSeconds) => {
  await map(`console.log('got', event.Records.length); ${body}`, {}, timeoutSeconds);

  await queue.sendBatch(['1', '2', '3']);

  await eventually(() => expect(lines()).toEqual(['got 3']));
  await fixture.runner.close({ graceMs: 2_000 });
  expect(await queue.depth()).toEqual({ visible: 0, inFlight: 3 });
});

it('no batch is received while no slot is free', async () => {
  await map('console.log(1); await new Promise((r) => setTimeout(r, 1000));', { batchSize: 1, maximumConcurrency: 2 });

  await queue.sendBatch(['1', '2', '3', '4', '5', '6']);

  await eventually(() => expect(lines()).toHaveLength(2));
  expect(await queue.depth()).toEqual({ visible: 4, inFlight: 2 });
  await eventually(() => expect(lines()).toHaveLength(6));
  expect(fixture.runner.environments('f')).toHaveLength(2);
});

it('a disabled mapping receives no message', async () => {
  await map(PRINT, { enabled: false });

  await queue.send('waits');
  await fixture.runner.invoke('f', { Records: [{ body: 'direct' }] }, 'RequestResponse');

  await eventually(() => expect(lines()).toEqual(['direct']));
  expect(await queue.depth()).toEqual({ visible: 1, inFlight: 0 });
});

it('an outage of the server is reported once and loses no message', async () => {
  await map(PRINT);
  await queue.send('before');
  await eventually(() => expect(lines()).toEqual(['before']));

  await queue.stop();
  await eventually(() => expect(fixture.events.filter(({ kind }) => kind === 'poll-error')).toHaveLength(1));
  await queue.start();
  await queue.send('after');

  await eventually(() => expect(lines()).toEqual(['before', 'after']));
  const reported = fixture.events.filter(({ kind }) => kind.startsWith('poll')).map(({ kind }) => kind);
  expect(reported).toEqual(['poll-error', 'poll-recovered']);
});

it('a function that cannot start is retried after delays that double up to two seconds', async () => {
  await fixture.add('broken', "throw new Error('broken');");
  const { url: queueUrl, arn: queueArn } = queue;
  fixture.runner.addMapping({
    ...{ functionName: 'broken', queueUrl, queueArn, batchSize: 1, windowSeconds: 0, maximumConcurrency: 2 },
  });

  await queue.sendBatch(['1', '2', '3', '4', '5', '6', '7', '8']);

  const failures = () => fixture.events.filter(({ kind }) => kind === 'init-failed');
  await eventually(() => expect(failures().length).toBeGreaterThanOrEqual(6));
  expect([1, 2, 3, 7, 20].map(retryDelayMs)).toEqual([50, 100, 200, 2_000, 2_000]);
});

it('five thousand messages are delivered once each', async () => {
  await map(PRINT, { maximumConcurrency: 5 });
  const bodies = Array.from({ length: 5_000 }, (_, n) => String(n));

  for (let from = 0; from < bodies.length; from += 50) {
    const batches = [0, 10, 20, 30, 40].map((offset) => bodies.slice(from + offset, from + offset + 10));
    await Promise.all(batches.map((batch) => queue.sendBatch(batch)));
  }

  const count = () => lines().reduce((sum, line) => sum + line.split(',').length, 0);
  await eventually(() => expect(count()).toBe(5_000), { interval: 100 });
  expect(new Set(lines().flatMap((line) => line.split(','))).size).toBe(5_000);
  await eventually(async () => expect(await queue.depth()).toEqual({ visible: 0, inFlight: 0 }));
});
