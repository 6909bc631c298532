import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { Cancel, DeadLetter, defineHandler, RetryAfter, retry, Skip, Snooze } from '../../../core/index.ts';
import { runHandler } from '../../../core/testing/run-handler.ts';

const NOW = new Date('2027-01-31T02:00:00Z');

const handlerOf = (run: (context: { signal: AbortSignal }) => unknown) =>
  defineHandler({
    jobType: 'work',
    payload: z.object({ at: z.coerce.date().optional() }),
    maxAttempts: 3,
    retry: retry.schedule(['1m', '5m'], { deadLetterOn: ['TypeError'] }),
    run: async (context) => run(context),
  });

it('returns what the handler returned, as the job stores it', async () => {
  const run = await runHandler(
    handlerOf(() => ({ at: NOW, none: undefined })),
    {},
  );

  expect(run).toMatchObject({ outcome: 'succeeded', error: null, nextDelaySeconds: null, nextAttemptAt: null });
  expect(run.result).toEqual({ at: '2027-01-31T02:00:00.000Z' });
});

it('passes the payload through JSON and the schema', async () => {
  const handler = defineHandler({
    jobType: 'work',
    payload: z.object({ at: z.coerce.date(), count: z.int().default(1) }),
    run: async ({ payload }) => ({ isDate: payload.at instanceof Date, count: payload.count }),
  });

  const run = await runHandler(handler, { at: NOW });

  expect(run.result).toEqual({ isDate: true, count: 1 });
});

it('a payload that the schema refuses is an outcome, and one that cannot be stored is an error', async () => {
  const handler = defineHandler({ jobType: 'work', payload: z.object({ to: z.email() }), run: async () => undefined });

  const run = await runHandler(handler, { to: 'Ada' });

  expect(run).toMatchObject({ outcome: 'dead_letter', error: { name: 'PayloadInvalid' } });
  expect(run.error?.message).toContain('payload/to: ');
  await expect(runHandler(handler, { to: 1n } as never)).rejects.toThrow('payload/to: is a BigInt');
});

describe('the next attempt', () => {
  const failing = handlerOf(() => {
    throw new Error('the bank is closed');
  });

  it.each([
    [1, 60, '2027-01-31T02:01:00.000Z'],
    [2, 300, '2027-01-31T02:05:00.000Z'],
  ])('follows from the retry policy after attempt %i', async (attempt, seconds, at) => {
    const run = await runHandler(failing, {}, { attempt, now: NOW });

    expect(run).toMatchObject({ outcome: 'failed', error: { name: 'Error', message: 'the bank is closed' } });
    expect(run).toMatchObject({ nextDelaySeconds: seconds, nextAttemptAt: new Date(at) });
  });

  it('does not exist after the last attempt, and after an error that is not retried', async () => {
    const last = await runHandler(failing, {}, { attempt: 3 });
    const refused = await runHandler(
      handlerOf(() => {
        throw new TypeError('no such invoice');
      }),
      {},
    );

    for (const run of [last, refused]) {
      expect(run).toMatchObject({ outcome: 'dead_letter', nextDelaySeconds: null, nextAttemptAt: null });
    }
  });

  it('is after a delay within the jitter, which random selects', async () => {
    const jittery = { ...failing, retry: retry.fixed('100s', { jitter: 'full' }) };

    const [shortest, half] = await Promise.all([{}, { random: () => 0.5 }].map((one) => runHandler(jittery, {}, one)));

    expect([shortest?.nextDelaySeconds, half?.nextDelaySeconds]).toEqual([0, 50]);
  });
});

it.each([
  ['snoozed', new Snooze('1h'), 3600],
  ['skipped', new Skip('deleted'), null],
  ['cancelled', new Cancel('withdrawn'), null],
  ['dead_letter', new DeadLetter('no such invoice'), null],
  ['failed', new RetryAfter(7), 7],
] as const)('a handler chooses the outcome %s', async (outcome, chosen, nextDelaySeconds) => {
  const run = await runHandler(
    handlerOf(() => {
      throw chosen;
    }),
    {},
  );

  expect(run).toMatchObject({ outcome, nextDelaySeconds, error: { name: chosen.name } });
});

it('reading the result of an attempt that did not succeed throws its error', async () => {
  const cause = new Error('the bank is closed');

  const run = await runHandler(
    handlerOf(() => {
      throw cause;
    }),
    {},
  );

  const thrown = await Promise.resolve()
    .then(() => run.result)
    .catch((error: unknown) => error);
  expect(thrown).toMatchObject({
    message: 'work has no result, because its outcome is failed: Error: the bank is closed',
    cause,
  });
  expect(Object.keys(run)).not.toContain('result');
});

it('aborts the signal after the given time with the error of the real timeout', async () => {
  const run = await runHandler(
    handlerOf(
      ({ signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ),
    {},
    { abortAfter: '1ms' },
  );

  expect(run).toMatchObject({ outcome: 'failed', error: { name: 'TimedOut', message: 'timed out after 30 s' } });
});

it('keeps what the handler logged and reported', async () => {
  const handler = defineHandler({
    jobType: 'work',
    payload: z.object({}),
    run: async ({ log, progress, attempt, jobId }) => {
      log.child({ bank: 'first' }).info('paid', { cents: 512n, attempt });
      log.warn('slow', { message: 'took long' });
      progress(0.5, jobId);
    },
  });

  const run = await runHandler(handler, {}, { jobId: '17', attempt: 2 });

  expect(run.log).toEqual([
    {
      level: 'info',
      event: 'paid',
      bank: 'first',
      cents: '512',
      fields: { attempt: { number: 2, max: 5, isLast: false } },
    },
    { level: 'warn', event: 'slow', message: 'took long' },
  ]);
  expect(run.progress).toEqual({ fraction: 0.5, text: '17' });
});

it.each([
  [{ attempt: 4 }, 'attempt: expected a whole number from 1 to 3, got 4'],
  [{ maxAttempts: 0 }, 'maxAttempts: expected a whole number from 1 to 1000, got 0'],
  [{ abortAfter: 'soon' }, 'abortAfter: expected a duration'],
  [{ now: new Date('never') }, 'now: expected a valid Date'],
  [{ atempt: 2 }, 'runHandler: unknown option atempt'],
])('refuses the options %j', async (options, message) => {
  await expect(
    runHandler(
      handlerOf(() => 1),
      {},
      options as never,
    ),
  ).rejects.toThrow(message);
});

it('refuses a job type instead of a handler', async () => {
  await expect(runHandler('work' as never, {})).rejects.toThrow('handler: expected the definition');
});
