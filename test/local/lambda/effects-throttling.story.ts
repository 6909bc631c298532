import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DeleteFunctionConcurrencyCommand,
  GetFunctionConcurrencyCommand,
  InvokeCommand,
  LambdaClient,
  PutFunctionConcurrencyCommand,
} from '@aws-sdk/client-lambda';
import { expect, it, type TestContext } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type Effects, openEffects, VISIBILITY_SECONDS } from './effects-fixture.ts';

const PATIENT = { timeout: 60_000 };
const received = (effects: Effects) => effects.seen().map(({ body, receives }) => `${body}${receives}`);

function openLambda({ endpoint }: Effects): LambdaClient {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  return new LambdaClient({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
}

/** Sends two messages to two pollers, with one slot that the first message occupies until `release`. */
async function contend({ onTestFinished }: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-slot-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const released = join(folder, 'released');
  const effects = await openEffects({
    body: `
      const { existsSync } = await import('node:fs');
      while (!existsSync('${released}')) await new Promise((r) => setTimeout(r, 20));`,
    spec: { reservedConcurrency: 1, timeoutSeconds: 60 },
    mapping: { batchSize: 1, maximumConcurrency: 2 },
    visibilitySeconds: 60,
  });
  await effects.send(['x', 'y']);
  effects.map();
  await eventually(() => expect(effects.seen()).toHaveLength(1), PATIENT);
  return { effects, release: () => writeFile(released, '') };
}

// "Event source mappings don't account for reserved concurrency and can process more messages off your queue than can
// be sent to your function." (How do I scale a function with an SQS event source)
it.concurrent('a mapping receives more messages than the reserved concurrency allows to run', async (context) => {
  const { effects, release } = await contend(context);

  await eventually(async () => expect(await effects.depth()).toEqual({ visible: 0, inFlight: 2 }));

  expect(effects.environments()).toHaveLength(1);
  await release();
  await effects.close();
});

// "If the invocation fails due to throttling […] Lambda continues to retry the message until the message's timestamp
// exceeds your queue's visibility timeout" (Handling errors for an SQS event source)
it.concurrent('a throttled batch runs in the same receive if a slot is free within its visibility', async (context) => {
  const { effects, release } = await contend(context);
  await eventually(async () => expect(await effects.depth()).toEqual({ visible: 0, inFlight: 2 }));

  await release();

  await eventually(() => expect(effects.seen()).toHaveLength(2), PATIENT);

  expect(received(effects).sort()).toEqual(['x1', 'y1']);
  await eventually(async () => expect(await effects.depth()).toEqual({ visible: 0, inFlight: 0 }));
  await effects.close();
});

// "[…] at which point Lambda drops the message."
it.concurrent('a batch throttled for its visibility timeout becomes visible with one more receive', async () => {
  const effects = await openEffects({
    spec: { reservedConcurrency: 0 },
    maxReceiveCount: 2,
    visibilitySeconds: VISIBILITY_SECONDS,
  });
  await effects.send(['x', 'y', 'z']);
  effects.map();

  const dead = await eventually(async () => {
    const messages = await effects.dead();
    expect(messages).toHaveLength(3);
    return messages;
  }, PATIENT);

  expect(dead.map(({ Body }) => Body).sort()).toEqual(['x', 'y', 'z']);
  expect(effects.seen()).toEqual([]);
  expect(effects.environments()).toEqual([]);
  await effects.close();
});

// "TooManyRequestsException: The request throughput limit was exceeded." (Invoke; HTTP status code 429)
it.concurrent('Invoke is refused above the reserved concurrency, and an event waits', async (context) => {
  const { effects, release } = await contend(context);
  const client = openLambda(effects);
  const record = (body: string) => ({ body, attributes: { ApproximateReceiveCount: '1' } });
  const invocation = (body: string) => ({
    FunctionName: 'f',
    Payload: JSON.stringify({ Records: [record(body)] }),
  });

  const refused = client.send(new InvokeCommand(invocation('sync')));
  const accepted = client.send(new InvokeCommand({ ...invocation('event'), InvocationType: 'Event' }));

  await expect(refused).rejects.toMatchObject({
    name: 'TooManyRequestsException',
    $metadata: { httpStatusCode: 429 },
  });
  expect((await accepted).StatusCode).toBe(202);
  await release();
  await eventually(() => expect(received(effects)).toContain('event1'), PATIENT);
  expect(received(effects)).not.toContain('sync1');
  client.destroy();
  await effects.close();
});

// "To throttle a function, set the reserved concurrency to zero. This stops any events from being processed until you
// remove the limit." (Configuring reserved concurrency for a function)
it.concurrent('a reserved concurrency of zero stops the messages of a mapping until the limit is removed', async () => {
  const effects = await openEffects({ visibilitySeconds: 30 });
  const client = openLambda(effects);
  const FunctionName = 'f';
  const reserved = async () =>
    (await client.send(new GetFunctionConcurrencyCommand({ FunctionName }))).ReservedConcurrentExecutions;

  await client.send(new PutFunctionConcurrencyCommand({ FunctionName, ReservedConcurrentExecutions: 0 }));
  await effects.send(['x']);
  effects.map();
  await eventually(async () => expect(await effects.depth()).toEqual({ visible: 0, inFlight: 1 }));
  const whileStopped = [await reserved(), effects.seen().length];
  await client.send(new DeleteFunctionConcurrencyCommand({ FunctionName }));

  expect(whileStopped).toEqual([0, 0]);
  expect(await reserved()).toBeUndefined();
  await eventually(() => expect(received(effects)).toEqual(['x1']), PATIENT);
  client.destroy();
  await effects.close();
});

it.concurrent('an invalid reserved concurrency, and one for an unknown function, are refused', async () => {
  const effects = await openEffects({});
  const client = openLambda(effects);
  const put = (FunctionName: string, ReservedConcurrentExecutions: number) =>
    client.send(new PutFunctionConcurrencyCommand({ FunctionName, ReservedConcurrentExecutions }));

  await expect(put('f', -1)).rejects.toMatchObject({ name: 'InvalidParameterValueException' });
  await expect(put('f', 1.5)).rejects.toMatchObject({ name: 'InvalidParameterValueException' });
  await expect(put('unknown', 1)).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  client.destroy();
  await effects.close();
});
