import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineHandler } from '../../../core/handler/handler.ts';
import { type HandlerPlan, planHandler } from '../../../infra/plan/handler-plan.ts';
import { prove } from '../../../infra/plan/proofs.ts';

const plainHandler = { jobType: 'send_invoice', payload: z.object({}), run: async () => undefined };
const definition = defineHandler(plainHandler);
const GOOD = planHandler('prod', { definition, file: '/handlers/send-invoice.ts', name: 'send_invoice' });
const LIMITS = { stage: 'prod', accountConcurrency: 1000 };
function proving(handlers: readonly HandlerPlan[], maxConnections?: number, apiConcurrency = 10): () => void {
  return () => prove({ ...LIMITS, handlers, drain: [], apiConcurrency, maxConnections });
}

it('accepts a handler with default options', () => {
  expect(proving([GOOD])).not.toThrow();
});

it('refuses drain for a handler that stays', () => {
  const draining = (drain: string[]) => () =>
    prove({ ...LIMITS, handlers: [GOOD], drain, apiConcurrency: 0, maxConnections: undefined });

  expect(draining(['old_report'])).not.toThrow();
  expect(draining(['old_report', 'send_invoice'])).toThrow(
    'drain: the handler send_invoice still has a file; remove the file, or remove send_invoice from drain',
  );
});

describe('prove names handler, numbers and fix for', () => {
  it.each<[string, Partial<HandlerPlan>, string]>([
    [
      'a function name that Lambda refuses',
      { queueName: `millrace-prod-${'x'.repeat(51)}` },
      `send_invoice: its function name millrace-prod-${'x'.repeat(51)} has 65 characters, and Lambda allows 64; shorten the job type, the routing key or the stage`,
    ],
    [
      'a queue name that SQS refuses',
      { deadLetterQueueName: 'millrace-prod-a.b-dlq' },
      'send_invoice: SQS refuses the queue name millrace-prod-a.b-dlq (21 characters): it allows 80 letters, digits, - and _; shorten the job type, the routing key or the stage',
    ],
    [
      'a timeout and margin above 900 s',
      { timeout: 895, functionTimeout: 905, runningLease: 910, dispatchedLease: 9999, visibilityTimeout: 5430 },
      'send_invoice: its timeout of 895 s gives a function timeout of 905 s, and Lambda allows 900 s; set timeout to 890s or less',
    ],
    [
      'a function that Lambda stops before the outcome is stored',
      { functionTimeout: 37 },
      'send_invoice: an attempt of 30 s requires 37 s until its outcome is stored, and Lambda stops the function after 37 s; raise the margin of the function timeout',
    ],
    [
      'a lease that ends before the function does',
      { runningLease: 40 },
      'send_invoice: its jobs are rescued after 40 s, and its function can run for 40 s; make the lease longer than the function timeout',
    ],
    [
      'a visibility timeout below six times the function timeout',
      { visibilityTimeout: 239 },
      'send_invoice: the visibility timeout of its queue is 239 s, and 6 times the function timeout of 40 s plus the batch window of 0 s is 240 s; derive the visibility timeout from the timeout',
    ],
    [
      'a visibility timeout that ignores the batch window',
      { batchWindow: 30, dispatchedLease: 9999 },
      'send_invoice: the visibility timeout of its queue is 240 s, and 6 times the function timeout of 40 s plus the batch window of 30 s is 270 s; derive the visibility timeout from the timeout',
    ],
    [
      'a visibility timeout that SQS refuses',
      { visibilityTimeout: 43_201 },
      'send_invoice: the visibility timeout of its queue is 43201 s, and SQS allows 43200 s; shorten the timeout or the batch window',
    ],
    [
      'a lease that ends while the message waits in the queue',
      { dispatchedLease: 400 },
      'send_invoice: the last of 1000 jobs in flight waits 400 s in the queue, and the dispatcher treats it as lost after 400 s; lower maxInFlight or raise concurrency',
    ],
    [
      'a wait longer than SQS keeps a message',
      { dispatchedLease: 345_600 },
      'send_invoice: a message can wait in its queue for 345600 s, and SQS deletes it after 345600 s; lower maxInFlight or raise concurrency',
    ],
    [
      'a queue that keeps messages too long',
      { retention: 345_601 },
      'send_invoice: its queue keeps messages for 345601 s, and more than 345600 s leaves a dead letter less than ten days; lower the retention',
    ],
    [
      'a dead-letter queue that does not keep its messages for 14 days',
      { deadLetterRetention: 345_600 },
      'send_invoice: its dead-letter queue keeps messages for 345600 s and its queue for 345600 s, and SQS counts both from the time of sending; keep dead letters for 1209600 s (14 days)',
    ],
    [
      'a receive count that throttling can exhaust',
      { maxReceiveCount: 4 },
      'send_invoice: SQS moves its messages to the dead-letter queue after 4 receives, and throttled messages can require 5; raise maxReceiveCount',
    ],
    [
      'a concurrency of 1',
      { concurrency: 1, dispatchedLease: 9999 },
      'send_invoice: its concurrency is 1, and AWS requires a whole number from 2 to 1000; change concurrency',
    ],
    [
      'a batch size of 0',
      { batchSize: 0, dispatchedLease: Number.POSITIVE_INFINITY },
      'send_invoice: its batch.size is 0, and AWS requires a whole number from 1 to 10000; change batch.size',
    ],
    [
      'a batch window above five minutes',
      { batchWindow: 301, visibilityTimeout: 541, dispatchedLease: 9999 },
      'send_invoice: its batch.window is 301, and AWS requires a whole number from 0 to 300; change batch.window',
    ],
    [
      'a batch above 10 without a window',
      { batchSize: 11 },
      'send_invoice: its batch size of 11 is above 10, and its batch window is 0 s; set batch.window to 1s or more',
    ],
    [
      'a memory of 64 MB',
      { memoryMb: 64 },
      'send_invoice: its memory is 64, and AWS requires a whole number from 128 to 10240; change memory',
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

describe('CDK-01: visibility timeout and function timeout', () => {
  // Function timeout: 120 s for the attempt, and 10 s to store the outcome.
  const planned = planHandler('prod', {
    definition: defineHandler({ ...plainHandler, timeout: '120s' }),
    file: '/handlers/send-invoice.ts',
    name: 'send_invoice',
  });

  it.each([30, 120, 700])(
    'a visibility timeout of %i s is refused, below six times a function timeout of 130 s',
    (visibilityTimeout) => {
      expect(proving([{ ...planned, visibilityTimeout }])).toThrow(
        `send_invoice: the visibility timeout of its queue is ${visibilityTimeout} s, and 6 times the function timeout of 130 s plus the batch window of 0 s is 780 s; derive the visibility timeout from the timeout`,
      );
    },
  );

  it('both, and the leases, are derived from the timeout and the batch window', () => {
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
  it('shared by two handlers are refused', () => {
    const twin = { ...GOOD, name: 'send.invoice' };

    expect(proving([GOOD, twin])).toThrow(
      'send.invoice: the name millrace-prod-send_invoice is already used by send_invoice; choose another jobType or routingKey',
    );
  });

  it('of our own functions are refused', () => {
    const named = { ...GOOD, name: 'dispatcher', queueName: 'millrace-prod-dispatcher' };

    expect(proving([named])).toThrow('dispatcher: the name millrace-prod-dispatcher is already used by dispatcher');
  });
});

describe('connections', () => {
  it('within max_connections are accepted, with a third one for each batch', () => {
    const few = { ...GOOD, maxInFlight: 100 };

    // 3 × 10 for the handler, 10 each for API and dispatcher, 4 for the rest, and 10 reserved.
    expect(proving([few], 64)).not.toThrow();
    expect(proving([{ ...few, batchSize: 1 }], 64)).not.toThrow();
    expect(proving([{ ...few, batchSize: 1 }], 63)).toThrow('10 for batches');
  });

  it('above max_connections are refused with the sum and the handler of the highest concurrency', () => {
    expect(proving([GOOD], 63)).toThrow(
      'maxConnections: up to 54 connections can be open at once (2 × 10 for handlers, 10 for batches whose thread is blocked, 10 for the API, 10 for the dispatcher and its nudges, the rest for other functions), and 63 leaves 53; lower concurrency, first that of send_invoice (10), or raise max_connections',
    );
  });
});

it('refuses a deployment without handlers', () => {
  expect(proving([])).toThrow('handlers: no handler file was found; write one');
});
