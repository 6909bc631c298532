import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineHandler } from '../../../core/handler/handler.ts';
import { type HandlerPlan, planHandler } from '../../../infra/plan/handler-plan.ts';
import { prove } from '../../../infra/plan/proofs.ts';

const plainHandler = { jobType: 'send_invoice', payload: z.object({}), run: async () => undefined };
const definition = defineHandler(plainHandler);
const GOOD = planHandler('prod', { definition, file: '/handlers/send-invoice.ts', name: 'send_invoice' });

function proving(handlers: readonly HandlerPlan[], maxConnections?: number, apiConcurrency = 10): () => void {
  return () => prove({ stage: 'prod', handlers, drain: [], apiConcurrency, maxConnections });
}

it('has nothing against a handler with what is usual', () => {
  expect(proving([GOOD])).not.toThrow();
});

it('lets go of no handler that stays', () => {
  const draining = (drain: string[]) => () =>
    prove({ stage: 'prod', handlers: [GOOD], drain, apiConcurrency: 0, maxConnections: undefined });

  expect(draining(['old_report'])).not.toThrow();
  expect(draining(['old_report', 'send_invoice'])).toThrow(
    'drain: send_invoice is not removed, its file is there; remove the file or leave drain out',
  );
});

describe('names handler, numbers and fix of', () => {
  it.each<[string, Partial<HandlerPlan>, string]>([
    [
      "a function's name that Lambda refuses",
      { queueName: `millrace-prod-${'x'.repeat(51)}` },
      `send_invoice: its function's name millrace-prod-${'x'.repeat(51)} has 65 characters and Lambda takes 64; shorten the job type, the routing key or the stage`,
    ],
    [
      'a name that SQS refuses',
      { deadLetterQueueName: 'millrace-prod-a.b-dlq' },
      'send_invoice: SQS refuses the name millrace-prod-a.b-dlq (21 characters): it takes 80 letters, digits, - and _; shorten the job type, the routing key or the stage',
    ],
    [
      'a timeout and margin over 900 s',
      { timeout: 895, functionTimeout: 905, runningLease: 910, dispatchedLease: 9999, visibilityTimeout: 5430 },
      'send_invoice: its timeout of 895 s makes a function timeout of 905 s and Lambda stops at 900 s; set timeout to 890s or less',
    ],
    [
      'a function that is killed before the outcome is written',
      { functionTimeout: 37 },
      "send_invoice: a run of 30 s needs 37 s with its outcome written and the function is killed after 37 s; raise the function's margin",
    ],
    [
      'a lease that ends before the function does',
      { runningLease: 40 },
      'send_invoice: its job would be rescued after 40 s while its function may run for 40 s; make the lease longer than the function timeout',
    ],
    [
      'a visibility timeout below six times the function timeout',
      { visibilityTimeout: 239 },
      "send_invoice: its queue's visibility timeout is 239 s and 6 times the function timeout of 40 s and the window of 0 s are 240 s; derive it from the timeout",
    ],
    [
      'a window that the visibility timeout forgot',
      { batchWindow: 30, dispatchedLease: 9999 },
      "send_invoice: its queue's visibility timeout is 240 s and 6 times the function timeout of 40 s and the window of 30 s are 270 s; derive it from the timeout",
    ],
    [
      'a visibility timeout that SQS refuses',
      { visibilityTimeout: 43_201 },
      "send_invoice: its queue's visibility timeout is 43201 s and SQS takes 43200 s; shorten the timeout or the window",
    ],
    [
      'a lease that ends while the message waits in the queue',
      { dispatchedLease: 400 },
      'send_invoice: the last of 1000 jobs in flight waits 400 s in the queue and is taken to be lost after 400 s; lower maxInFlight or raise concurrency',
    ],
    [
      'a wait that is longer than SQS keeps a message',
      { dispatchedLease: 345_600 },
      'send_invoice: a job may lie in its queue for 345600 s and SQS drops the message after 345600 s; lower maxInFlight or raise concurrency',
    ],
    [
      'a queue that keeps messages for too long',
      { retention: 345_601 },
      'send_invoice: its queue keeps messages for 345601 s and 345600 s is the most that leaves a dead letter its ten days; lower the retention',
    ],
    [
      'a dead-letter queue that does not keep its messages for 14 days',
      { deadLetterRetention: 345_600 },
      'send_invoice: its dead-letter queue keeps messages for 345600 s, its queue for 345600 s, and their age is counted from the sending; keep dead letters 1209600 s (14 days)',
    ],
    [
      'a receive count that throttling can use up',
      { maxReceiveCount: 4 },
      'send_invoice: its messages are moved to the dead-letter queue after 4 receives, and throttled ones need 5; raise maxReceiveCount',
    ],
    [
      'concurrency 1',
      { concurrency: 1, dispatchedLease: 9999 },
      'send_invoice: its concurrency is 1 and AWS takes a whole number from 2 to 1000; set concurrency within that',
    ],
    [
      'batch 0',
      { batchSize: 0, dispatchedLease: Number.POSITIVE_INFINITY },
      'send_invoice: its batch.size is 0 and AWS takes a whole number from 1 to 10000; set batch.size within that',
    ],
    [
      'a window of more than five minutes',
      { batchWindow: 301, visibilityTimeout: 541, dispatchedLease: 9999 },
      'send_invoice: its batch.window is 301 and AWS takes a whole number from 0 to 300; set batch.window within that',
    ],
    [
      'a batch over 10 without a window',
      { batchSize: 11 },
      'send_invoice: its batch of 11 is over 10 and its window is 0 s; set batch.window to 1s or more',
    ],
    [
      'memory 64',
      { memoryMb: 64 },
      'send_invoice: its memory is 64 and AWS takes a whole number from 128 to 10240; set memory within that',
    ],
  ])('%s', (_case, change, sentence) => {
    let message = '';
    try {
      proving([{ ...GOOD, ...change }])();
    } catch (error) {
      message = (error as Error).message;
    }

    expect(message.split('\n')).toContain(sentence);
  });
});

describe('CDK-01: visibility and timeout', () => {
  // Function timeout: 120 s of work, and 10 s to write the outcome.
  const planned = planHandler('prod', {
    definition: defineHandler({ ...plainHandler, timeout: '120s' }),
    file: '/handlers/send-invoice.ts',
    name: 'send_invoice',
  });

  it.each([30, 120, 700])('are refused at %i s, below six times a timeout of 130 s', (visibilityTimeout) => {
    expect(proving([{ ...planned, visibilityTimeout }])).toThrow(
      `send_invoice: its queue's visibility timeout is ${visibilityTimeout} s and 6 times the function timeout of 130 s and the window of 0 s are 780 s; derive it from the timeout`,
    );
  });

  it('follow from one another, with window and lease, so that a timeout is changed in one place', () => {
    const definition = defineHandler({ ...plainHandler, timeout: '120s', batch: { size: 50, window: '30s' } });

    const waiting = planHandler('prod', { definition, file: '/handlers/send-invoice.ts', name: 'send_invoice' });

    expect(planned).toMatchObject({ functionTimeout: 130, visibilityTimeout: 780 });
    expect(waiting).toMatchObject({ functionTimeout: 130, visibilityTimeout: 810 });
    expect(planned.runningLease).toBeGreaterThan(planned.functionTimeout);
    expect(planned.visibilityTimeout).toBeGreaterThan(planned.runningLease);
    expect(proving([planned])).not.toThrow();
    expect(proving([waiting])).not.toThrow();
  });
});

describe('names', () => {
  it('that two handlers would share are refused', () => {
    const twin = { ...GOOD, name: 'send.invoice' };

    expect(proving([GOOD, twin])).toThrow(
      'send.invoice: the name millrace-prod-send_invoice is that of send_invoice already; choose another jobType or routingKey',
    );
  });

  it('that a function of our own has are refused', () => {
    const named = { ...GOOD, name: 'dispatcher', queueName: 'millrace-prod-dispatcher' };

    expect(proving([named])).toThrow('dispatcher: the name millrace-prod-dispatcher is that of dispatcher already');
  });
});

describe('connections', () => {
  it('that fit are let through', () => {
    // 2 × 10 + 4 + 10 + 4 + 10 kept
    expect(proving([GOOD], 48)).not.toThrow();
  });

  it('that do not fit are refused with the sum and the widest handler', () => {
    expect(proving([GOOD], 47)).toThrow(
      "maxConnections: 38 connections may be open at once (twice the handlers' 10, the API's 10, others) and 47 leave 37; lower concurrency, first that of send_invoice (10), or raise max_connections",
    );
  });
});

it('refuses to deploy nothing', () => {
  expect(proving([])).toThrow('handlers: there is none');
});
