import { LambdaClient, UpdateEventSourceMappingCommand } from '@aws-sdk/client-lambda';
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type Effects, openEffects } from './effects-fixture.ts';

const PATIENT = { timeout: 60_000 };
const received = (effects: Effects) => effects.seen().map(({ body, receives }) => `${body}${receives}`);
const slow = (seconds: number) => `await new Promise((r) => setTimeout(r, ${seconds * 1_000}));`;

async function enable(effects: Effects, UUID: string, Enabled: boolean): Promise<void> {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new LambdaClient({ endpoint: effects.endpoint, region: 'us-east-1', credentials });
  await client.send(new UpdateEventSourceMappingCommand({ UUID, Enabled }));
  client.destroy();
}

// "When true, the event source mapping is active. When false, Lambda pauses polling and invocation."
// (UpdateEventSourceMapping)
it.concurrent('a disabled mapping finishes the running batches and receives no more messages', async () => {
  const effects = await openEffects({ body: slow(3), mapping: { batchSize: 2 }, visibilitySeconds: 1 });
  await effects.send(['a', 'b', 'c', 'd']);
  const uuid = effects.map();
  await eventually(() => expect(effects.seen()).toHaveLength(4), PATIENT);
  await effects.send(['e', 'f']);

  await enable(effects, uuid, false);

  // The batches are deleted although their visibility timeout has ended.
  await eventually(async () => expect(await effects.depth()).toEqual({ visible: 2, inFlight: 0 }), PATIENT);
  expect(received(effects).sort()).toEqual(['a1', 'b1', 'c1', 'd1']);
  await enable(effects, uuid, true);
  await eventually(() => expect(received(effects).slice(4).sort()).toEqual(['e1', 'f1']), PATIENT);
  await effects.close();
});

// The same sentence: a message that fails while the mapping is being disabled waits in the queue with one receive.
it.concurrent('messages of a disabled mapping wait without further receives', async () => {
  const effects = await openEffects({ body: `${slow(2)} if (first) throw new Error('no');`, visibilitySeconds: 6 });
  await effects.send(['a', 'b']);
  const uuid = effects.map();
  await eventually(() => expect(effects.seen()).toHaveLength(2), PATIENT);

  await enable(effects, uuid, false);
  await eventually(async () => expect(await effects.depth()).toEqual({ visible: 2, inFlight: 0 }), PATIENT);
  await enable(effects, uuid, true);

  await eventually(() => expect(received(effects).slice(2).sort()).toEqual(['a2', 'b2']), PATIENT);
  await effects.close();
});

// "The maximum concurrency setting limits the number of concurrent instances of the function that an Amazon SQS event
// source can invoke." Messages above the maximum are not received (Configuring scaling behavior).
it.concurrent('at the maximum concurrency no message is received that cannot run', async () => {
  const effects = await openEffects({
    body: slow(2),
    mapping: { batchSize: 1, maximumConcurrency: 2 },
    visibilitySeconds: 30,
  });
  await effects.send(['1', '2', '3', '4', '5', '6']);
  effects.map();

  await eventually(() => expect(effects.seen()).toHaveLength(2), PATIENT);
  const whileTwoRun = await effects.depth();
  await eventually(async () => {
    expect(effects.seen().length).toBeGreaterThanOrEqual(6);
    expect(await effects.depth()).toEqual({ visible: 0, inFlight: 0 });
  }, PATIENT);

  expect(whileTwoRun).toEqual({ visible: 4, inFlight: 2 });
  expect(received(effects).sort()).toEqual(['11', '21', '31', '41', '51', '61']);
  expect(effects.environments()).toHaveLength(2);
  await effects.close();
});

// "Before invoking the function, Lambda continues to poll messages from the SQS standard queue until the batch window
// expires, the invocation payload size quota is reached, or the configured maximum batch size is reached." The
// visibility timeout of the first message runs meanwhile.
it.concurrent('a window collects messages, and each of them has one receive', async () => {
  const effects = await openEffects({ mapping: { batchSize: 10, windowSeconds: 4 }, visibilitySeconds: 15 });
  effects.map();

  await effects.send(['a']);
  await eventually(async () => expect((await effects.depth()).inFlight).toBe(1));
  await effects.send(['b']);

  await eventually(() => expect(effects.batches()).toEqual([2]), PATIENT);
  expect(received(effects)).toEqual(['a1', 'b1']);
  await eventually(async () => expect(await effects.depth()).toEqual({ visible: 0, inFlight: 0 }));
  await effects.close();
});

it.concurrent('each message of a collected batch that fails becomes visible at its own time', async () => {
  const effects = await openEffects({
    body: "if (first) throw new Error('no');",
    mapping: { batchSize: 2, windowSeconds: 1 },
    visibilitySeconds: 3,
  });
  effects.map();
  await effects.send(['a']);
  await eventually(async () => expect((await effects.depth()).inFlight).toBe(1));
  await effects.send(['b']);

  await eventually(() => expect(received(effects).sort()).toEqual(['a1', 'a2', 'b1', 'b2']), PATIENT);

  await eventually(async () => expect(await effects.depth()).toEqual({ visible: 0, inFlight: 0 }), PATIENT);
  await effects.close();
});
