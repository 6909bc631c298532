import {
  GetEventSourceMappingCommand,
  GetFunctionCommand,
  InvokeCommand,
  LambdaClient,
  ListEventSourceMappingsCommand,
  ListFunctionsCommand,
  UpdateEventSourceMappingCommand,
  type UpdateEventSourceMappingRequest,
} from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openQueue, type QueueFixture } from './queue-fixture.ts';
import { handler, openRunner, type RunnerFixture } from './runner-fixture.ts';

let queue: QueueFixture;
let fixture: RunnerFixture;
let client: LambdaClient;
let UUID: string;
beforeAll(async () => {
  queue = await openQueue();
  fixture = await openRunner(queue.endpoint);
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  client = new LambdaClient({ endpoint: fixture.runner.endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
});
afterAll(async () => {
  client.destroy();
  await fixture.close();
  await queue.close();
});
beforeEach(async () => {
  if (UUID !== undefined) fixture.runner.removeFunction('f');
  const print = 'for (const { body } of event.Records ?? []) console.log(body);';
  await fixture.add('f', handler(`${print} if (event.fail) throw new TypeError('no'); return event;`));
  UUID = fixture.runner.addMapping({
    functionName: 'f',
    queueUrl: queue.url,
    queueArn: queue.arn,
    batchSize: 10,
    windowSeconds: 0,
    maximumConcurrency: 2,
  });
});

const update = (change: Omit<UpdateEventSourceMappingRequest, 'UUID'>) =>
  client.send(new UpdateEventSourceMappingCommand({ UUID, ...change }));
const get = () => client.send(new GetEventSourceMappingCommand({ UUID }));

it.each(['f', 'f:$LATEST', 'arn:aws:lambda:us-east-1:000000000000:function:f', '000000000000:function:f'])(
  'Invoke finds the function by %s',
  async (FunctionName) => {
    const answer = await client.send(new InvokeCommand({ FunctionName, Payload: '{"a":1}' }));

    expect(answer.StatusCode).toBe(200);
    expect(answer.FunctionError).toBeUndefined();
    expect(answer.Payload?.transformToString()).toBe('{"a":1}');
  },
);

it('Invoke returns an error of the function as Lambda does', async () => {
  const answer = await client.send(new InvokeCommand({ FunctionName: 'f', Payload: '{"fail":true}' }));

  expect(answer.StatusCode).toBe(200);
  expect(answer.FunctionError).toBe('Unhandled');
  expect(JSON.parse(answer.Payload?.transformToString() ?? '')).toMatchObject({ errorType: 'TypeError' });
});

it('Invoke with the type Event is accepted, with the type DryRun it does nothing', async () => {
  const Payload = '{"Records":[{"body":"async"}]}';

  const dry = await client.send(new InvokeCommand({ FunctionName: 'f', InvocationType: 'DryRun', Payload }));
  const event = await client.send(new InvokeCommand({ FunctionName: 'f', InvocationType: 'Event', Payload }));

  expect([dry.StatusCode, event.StatusCode]).toEqual([204, 202]);
  await eventually(() => expect(fixture.lines()).toEqual(['async']));
});

it('Invoke refuses an unknown function and a payload that is not JSON', async () => {
  const unknown = client.send(new InvokeCommand({ FunctionName: 'unknown' }));
  const broken = client.send(new InvokeCommand({ FunctionName: 'f', Payload: '{"a"' }));

  await expect(unknown).rejects.toMatchObject({
    name: 'ResourceNotFoundException',
    message: 'Function not found: arn:aws:lambda:us-east-1:000000000000:function:unknown',
  });
  await expect(broken).rejects.toMatchObject({ name: 'InvalidRequestContentException' });
});

it('GetFunction and ListFunctions return the functions', async () => {
  const got = await client.send(new GetFunctionCommand({ FunctionName: 'f' }));
  const listed = await client.send(new ListFunctionsCommand({}));

  expect(got.Configuration).toMatchObject({ FunctionName: 'f', Timeout: 5, MemorySize: 256, Runtime: 'nodejs24.x' });
  expect(listed.Functions?.map(({ FunctionName }) => FunctionName)).toEqual(['f']);
});

it('GetEventSourceMapping and ListEventSourceMappings return mappings, filtered by function or queue', async () => {
  const list = async (filter: object) =>
    (await client.send(new ListEventSourceMappingsCommand(filter))).EventSourceMappings?.map((each) => each.UUID);

  const got = await get();

  expect(got).toMatchObject({
    UUID,
    BatchSize: 10,
    MaximumBatchingWindowInSeconds: 0,
    ScalingConfig: { MaximumConcurrency: 2 },
    EventSourceArn: queue.arn,
    FunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:f',
    FunctionResponseTypes: ['ReportBatchItemFailures'],
    State: 'Enabled',
    LastModified: expect.any(Date),
  });
  expect(await list({})).toEqual([UUID]);
  expect(await list({ FunctionName: 'f', EventSourceArn: queue.arn })).toEqual([UUID]);
  expect(await list({ FunctionName: 'other' })).toEqual([]);
  expect(await list({ EventSourceArn: 'arn:aws:sqs:us-east-1:000000000000:other' })).toEqual([]);
});

it('UpdateEventSourceMapping changes the settings of a mapping', async () => {
  const answer = await update({
    BatchSize: 100,
    MaximumBatchingWindowInSeconds: 2,
    ScalingConfig: { MaximumConcurrency: 7 },
  });

  expect(answer.State).toBe('Updating');
  expect(await get()).toMatchObject({
    BatchSize: 100,
    MaximumBatchingWindowInSeconds: 2,
    ScalingConfig: { MaximumConcurrency: 7 },
    State: 'Enabled',
  });
});

it('a disabled mapping delivers no message until it is enabled again', async () => {
  const disabling = await update({ Enabled: false });
  await eventually(async () => expect(await get()).toMatchObject({ State: 'Disabled' }));
  await queue.send('kept');
  await client.send(new InvokeCommand({ FunctionName: 'f', Payload: '{"Records":[{"body":"direct"}]}' }));
  await eventually(() => expect(fixture.lines()).toContain('direct'));
  const depth = await queue.depth();
  const enabling = await update({ Enabled: true });

  expect([disabling.State, enabling.State]).toEqual(['Disabling', 'Enabling']);
  expect(depth).toEqual({ visible: 1, inFlight: 0 });
  await eventually(() => expect(fixture.lines()).toContain('kept'));
  expect(await get()).toMatchObject({ State: 'Enabled' });
});

it('a mapping that is toggled while it works delivers every message', async () => {
  await queue.sendBatch(['t1', 't2', 't3']);

  await Promise.all([false, true, false, true, false, true].map((Enabled) => update({ Enabled })));
  await queue.sendBatch(['t4', 't5']);

  const own = () => fixture.lines().filter((line) => /^t\d$/.test(line));
  await eventually(() => expect(own().sort()).toEqual(['t1', 't2', 't3', 't4', 't5']));
});

it.each<[string, Omit<UpdateEventSourceMappingRequest, 'UUID'>]>([
  ['a batch size of zero', { BatchSize: 0 }],
  ['a batch size above 10,000', { BatchSize: 10_001, MaximumBatchingWindowInSeconds: 1 }],
  ['a batch size above ten without a window', { BatchSize: 11 }],
  ['a window above 300 s', { MaximumBatchingWindowInSeconds: 301 }],
  ['a concurrency of one', { ScalingConfig: { MaximumConcurrency: 1 } }],
  ['a concurrency above 1,000', { ScalingConfig: { MaximumConcurrency: 1_001 } }],
])('UpdateEventSourceMapping refuses %s', async (_, change) => {
  await expect(update(change)).rejects.toMatchObject({
    name: 'InvalidParameterValueException',
    $metadata: { httpStatusCode: 400 },
  });
  expect(await get()).toMatchObject({ BatchSize: 10, ScalingConfig: { MaximumConcurrency: 2 } });
});

it('GetEventSourceMapping refuses an unknown mapping', async () => {
  await expect(
    client.send(new GetEventSourceMappingCommand({ UUID: '11111111-1111-4111-8111-111111111111' })),
  ).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
});
