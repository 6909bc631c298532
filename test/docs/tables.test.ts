import { expect, it } from 'vitest';
import * as z from 'zod';
import { seconds } from '../../core/duration.ts';
import { defineHandler, type HandlerOptions } from '../../core/handler/handler.ts';
import { retry, retryDelay } from '../../core/handler/retry-policy.ts';
import { MAX_RECEIVE_COUNT, SOURCE_RETENTION_SECONDS, timingOf } from '../../core/handler/timing.ts';
import makeThumbnail from '../../functions/handlers/make-thumbnail.ts';
import sendReminder from '../../functions/handlers/send-reminder.ts';
import { readDocument, tableBelow } from './documents.ts';

const lifecycle = readDocument('docs/lifecycle.md');
const least = { jobType: 'work', payload: z.object({}), run: async () => undefined };

it('docs/lifecycle.md states the timing of handlers', () => {
  const rows = tableBelow(lifecycle, 'Leases and timing');
  const timings = [defineHandler(least), sendReminder, makeThumbnail].map(timingOf);

  const shown = rows.map(([, , ...cells]) => cells.map(Number));

  expect(rows.map(([name]) => name)).toEqual([
    'timeout',
    'function timeout',
    'running lease',
    'dispatched lease',
    'visibility timeout',
  ]);
  expect(shown).toEqual([
    timings.map(({ timeout }) => timeout),
    timings.map(({ functionTimeout }) => functionTimeout),
    timings.map(({ runningLease }) => runningLease),
    timings.map(({ dispatchedLease }) => dispatchedLease),
    timings.map(({ visibilityTimeout }) => visibilityTimeout),
  ]);
  expect(lifecycle.text).toContain(`for ${SOURCE_RETENTION_SECONDS} s (4 days)`);
  expect(lifecycle.text).toContain(`to the dead-letter queue after ${MAX_RECEIVE_COUNT} receives`);
});

it('docs/dead-letters.md states how long a message takes to its dead-letter queue', () => {
  const rows = tableBelow(readDocument('docs/dead-letters.md'), 'How long it takes');
  const { functionTimeout, dispatchedLease, visibilityTimeout } = timingOf(sendReminder);
  const rounds = Math.ceil(sendReminder.maxInFlight / (sendReminder.concurrency * sendReminder.batch.size));

  const shown = rows.map(([, , cell]) => Number.parseInt(cell ?? '', 10));

  expect(shown).toEqual([
    MAX_RECEIVE_COUNT * rounds * functionTimeout,
    visibilityTimeout,
    visibilityTimeout + dispatchedLease + 300,
  ]);
});

it.each(tableBelow(lifecycle, 'Retries'))('the retry policy has the documented delays: %s', (...row) => {
  const [written = '', ...cells] = row;
  const code = /^`([^`]+)`/.exec(written)?.[1];
  const policy = new Function('retry', `return ${code}`)(retry);

  const shown = retry.preview(policy, 6);
  const bounds = [0, 1 - Number.EPSILON].map((chance) => (retryDelay(policy, 1, chance) / shown[0]!.delay) * 100);

  expect(shown.map(({ delay }) => delay)).toEqual(cells.slice(0, 6).map((cell) => seconds(cell, 'the page')));
  expect(`${[...new Set(bounds.map(Math.round))].join(' to ')} %`).toBe(cells[6]);
});

it('docs/lifecycle.md states the default retry policy', () => {
  const [first] = tableBelow(lifecycle, 'Retries');

  const code = /^`([^`]+)`, the default$/.exec(first?.[0] ?? '')?.[1];

  expect(new Function('retry', `return ${code}`)(retry)).toEqual(defineHandler(least).retry);
});

const options = tableBelow(readDocument('docs/handlers.md'), 'Options');
const numeric = options.filter(([, , bounds]) => /\d+(?: s)? to \d+/.test(bounds ?? ''));

it.each(numeric)('the option %s accepts exactly the values within its documented bounds', (...row) => {
  const [name = '', , bounds = ''] = row;
  const [, low, high] = (/(\d+)(?: s)? to (\d+)/.exec(bounds) ?? []).map(Number);
  const define = (value: number) => () => defineHandler({ ...least, ...optionOf(name, value) });

  expect(define(low as number)).not.toThrow();
  expect(define(high as number)).not.toThrow();
  expect(define((low as number) - 1)).toThrow(/expected/);
  expect(define((high as number) + 1)).toThrow(/expected/);
});

function optionOf(written: string, value: number): Partial<HandlerOptions<typeof least.payload>> {
  const name = written.replaceAll('`', '');
  if (name === 'batch.size') return { batch: { size: value, window: '1s' }, maxInFlight: 1000 };
  if (name === 'batch.window') return { batch: { window: value } };
  return { [name]: value };
}

it('docs/handlers.md states the defaults of the options', () => {
  const shown = Object.fromEntries(options.map(([name, value]) => [name?.replaceAll('`', ''), value]));
  const { timeoutSeconds, memoryMb, maxAttempts, concurrency, batch, maxInFlight, routingKey } = defineHandler(least);

  expect(shown).toMatchObject({
    timeout: `${timeoutSeconds} s`,
    memory: String(memoryMb),
    maxAttempts: String(maxAttempts),
    concurrency: String(concurrency),
    'batch.size': String(batch.size),
    'batch.window': `${batch.windowSeconds} s`,
    maxInFlight: '10 × concurrency × batch size',
  });
  expect(maxInFlight).toBe(10 * concurrency * batch.size);
  expect(routingKey).toBe('');
});
