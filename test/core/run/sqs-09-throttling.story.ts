import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineHandler } from '../../../core/handler/handler.ts';
import { MAX_RECEIVE_COUNT, timingOf } from '../../../core/handler/timing.ts';
import { ensureQueues } from '../../../local/functions/handler-queues.ts';
import { openEffects } from '../../local/lambda/effects-fixture.ts';
import { eventually } from '../../support/eventually.ts';

/** Jobs that would succeed if they ran. */
const MESSAGES = Array.from({ length: 30 }, (_, n) => String(n));
const TWO_SECONDS = 'await new Promise((r) => setTimeout(r, 2_000));';
const ONE_SLOT = { reservedConcurrency: 1, timeoutSeconds: 20 };
const PATIENT = { interval: 200 };

it.concurrent('SQS-09: throttling alone moves messages to the DLQ that were never run', async () => {
  const effects = await openEffects({
    body: TWO_SECONDS,
    spec: ONE_SLOT,
    // As many pollers as messages, because a mapping ignores the reserved concurrency.
    mapping: { batchSize: 1, maximumConcurrency: 30 },
    visibilitySeconds: 3,
    maxReceiveCount: 3,
  });
  await effects.send(MESSAGES);
  effects.map();

  await eventually(async () => expect(await effects.depth()).toEqual({ visible: 0, inFlight: 0 }), PATIENT);

  const everRun = new Set(effects.seen().map(({ body }) => body)).size;
  expect(everRun).toBeLessThanOrEqual(20);
  expect(await effects.deadCount()).toBeGreaterThanOrEqual(30 - everRun);
  await effects.close();
});

it.concurrent("SQS-09: with Millrace's settings no good message moves to the DLQ or is received twice", async () => {
  const definition = defineHandler({
    jobType: 'slow',
    payload: z.unknown(),
    timeout: '3s',
    concurrency: 2,
    batch: { size: 5 },
    run: async () => undefined,
  });
  const { functionTimeout, visibilityTimeout } = timingOf(definition);
  const { batch, concurrency: maximumConcurrency } = definition;
  const effects = await openEffects({
    body: TWO_SECONDS,
    // Millrace reserves no concurrency, but an account may have only one slot left.
    spec: { ...ONE_SLOT, timeoutSeconds: functionTimeout },
    mapping: { batchSize: batch.size, maximumConcurrency },
    createQueues: (sqs) => ensureQueues(sqs, 'test', definition),
  });
  await effects.send(MESSAGES);
  effects.map();

  await eventually(() => expect(effects.seen().length).toBeGreaterThanOrEqual(30), PATIENT);
  await eventually(async () => expect(await effects.depth()).toEqual({ visible: 0, inFlight: 0 }), PATIENT);

  expect(await effects.deadCount()).toBe(0);
  expect(effects.seen()).toHaveLength(30);
  expect(new Set(effects.seen().map(({ receives }) => receives))).toEqual(new Set([1]));
  expect(visibilityTimeout).toBeGreaterThanOrEqual(6 * functionTimeout);
  expect(MAX_RECEIVE_COUNT).toBeGreaterThanOrEqual(5);
  await effects.close();
});
