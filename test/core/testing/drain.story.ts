import { expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, enqueue, RetryAfter, retry, Snooze } from '../../../core/index.ts';
import { openOnServer } from '../../support/test-databases.ts';

const NOW = new Date('2027-01-31T02:00:00Z');
const at = (text: string) => new Date(`2027-${text}Z`);

const flaky = defineHandler({
  jobType: 'flaky',
  payload: z.object({ works: z.int() }),
  maxAttempts: 3,
  retry: retry.schedule(['1m', '12h']),
  run: async ({ payload, attempt, log }) => {
    log.info('tried');
    if (attempt.number < payload.works) throw new Error('not yet');
    return { attempt: attempt.number };
  },
});
const nightly = defineHandler({
  jobType: 'nightly',
  payload: z.object({ at: z.string() }),
  schedules: { 'nightly-report': { cron: '0 3 * * *', tickKey: 'at' } },
  run: async () => undefined,
});

it('runs a job and its retries, and moves the clock to each', async () => {
  const database = await openOnServer({ handlers: [flaky], now: NOW });
  const { id } = await enqueue(database, flaky, { works: 3 });

  const runs = await database.drain();

  const log = [{ level: 'info', event: 'tried' }];
  const common = { jobId: id, jobType: 'flaky', routingKey: '', payload: { works: 3 }, log };
  expect(runs).toMatchObject([
    { ...common, attempt: 1, at: NOW, outcome: 'failed', nextAttemptAt: at('01-31T02:01:00') },
    { ...common, attempt: 2, at: at('01-31T02:01:00'), outcome: 'failed', nextDelaySeconds: 43_200 },
    { ...common, attempt: 3, at: at('01-31T14:01:00'), outcome: 'succeeded', error: null },
  ]);
  expect(runs[2]?.result).toEqual({ attempt: 3 });
  expect(runs[0]?.error).toMatchObject({ name: 'Error', message: 'not yet' });
  expect(await database.now()).toEqual(at('01-31T14:01:00'));
});

it('a job dies with the attempts of its handler, and its result throws the error of the last one', async () => {
  const database = await openOnServer({ handlers: [flaky], now: NOW });
  await enqueue(database, flaky, { works: 9 });

  const runs = await database.drain();

  expect(runs.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'dead_letter']);
  expect(() => runs[2]?.result).toThrow('flaky has no result, because its outcome is dead_letter: Error: not yet');
  expect(await database.drain()).toEqual([]);
});

it('runs delayed jobs, and those that a job enqueues, by priority and time', async () => {
  const second = defineHandler({ jobType: 'second', payload: z.object({}), run: async () => undefined });
  const first = defineHandler({
    jobType: 'first',
    payload: z.object({}),
    run: async () => void (await enqueue(database, second, {})),
  });
  const database = await openOnServer({ handlers: [first, second], now: NOW });
  await enqueue(database, second, {}, { delay: '2h' });
  await enqueue(database, first, {});
  await enqueue(database, second, {}, { priority: 0 });

  const runs = await database.drain();

  expect(runs.map(({ jobType, jobId, at: time }) => [jobType, jobId, time.getTime() - NOW.getTime()])).toEqual([
    ['second', '3', 0],
    ['first', '2', 0],
    ['second', '4', 0],
    ['second', '1', 7_200_000],
  ]);
});

it('runs the ticks of schedules until a time, which the clock then shows', async () => {
  const database = await openOnServer({ handlers: [nightly], now: NOW });

  const none = await database.drain();
  const runs = await database.drain({ until: '2d' });

  expect(none).toEqual([]);
  expect(runs.map(({ payload, at: time }) => [payload, time])).toEqual([
    [{ at: '2027-01-31T03:00:00Z' }, at('01-31T03:00:00')],
    [{ at: '2027-02-01T03:00:00Z' }, at('02-01T03:00:00')],
  ]);
  expect(await database.now()).toEqual(at('02-02T02:00:00'));
});

it('without a time, runs the ticks that pass while a job waits', async () => {
  const database = await openOnServer({ handlers: [nightly, flaky], now: NOW });
  await enqueue(database, flaky, { works: 1 }, { delay: '26h' });

  const runs = await database.drain();

  expect(runs.map(({ jobType }) => jobType)).toEqual(['nightly', 'nightly', 'flaky']);
});

it('stops before what is due after the time', async () => {
  const database = await openOnServer({ handlers: [flaky], now: NOW });
  await enqueue(database, flaky, { works: 2 });

  const now = await database.drain({ until: '0s' });
  const later = await database.drain({ until: at('01-31T02:00:59') });
  const rest = await database.drain({ until: at('01-31T02:01:00') });

  expect([now, later, rest].map((runs) => runs.map(({ outcome }) => outcome))).toEqual([['failed'], [], ['succeeded']]);
});

it('a time with a fraction of a millisecond comes', async () => {
  const handler = defineHandler({
    jobType: 'fraction',
    payload: z.object({}),
    run: async ({ attempt }) => {
      if (attempt.number === 1) throw new RetryAfter(1.0001);
      if (snoozes++ === 0) throw new Snooze(2.00005);
    },
  });
  let snoozes = 0;
  const database = await openOnServer({ handlers: [handler], now: NOW });
  await enqueue(database, handler, {});

  const runs = await database.drain();

  expect(runs.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
    ['failed', 1],
    ['snoozed', 2],
    ['succeeded', 2],
  ]);
  expect(runs[1]?.at).toEqual(runs[0]?.nextAttemptAt);
});

it('does not run jobs without a handler, of paused handlers, of cancelled jobs and of open transactions', async () => {
  const database = await openOnServer({ handlers: [flaky], now: NOW });
  await database.query("select millrace.enqueue('other', '{}')");
  const cancelled = await enqueue(database, flaky, { works: 1 });
  await database.query('select millrace.cancel($1)', [cancelled.id]);

  const inside = await database.transaction(async (client) => {
    await enqueue(client, flaky, { works: 1 });
    return database.drain();
  });
  await database.query("select millrace.pause('flaky')");
  const paused = await database.drain();
  await database.query("select millrace.resume('flaky')");
  const resumed = await database.drain();

  expect([inside.length, paused.length, resumed.length]).toEqual([0, 0, 1]);
});

it('runs jobs with the settings and secrets of the database, and names each that it lacks', async () => {
  const handler = defineHandler({
    ...{ jobType: 'named', payload: z.object({}), settings: { API_URL: 'required' }, secrets: ['API_TOKEN'] },
    run: async ({ settings, secrets }) => [settings.API_URL, secrets.API_TOKEN],
  });
  const named = { settings: { API_URL: 'https://x.test' }, secrets: { API_TOKEN: 'fake' } };
  const [database, other] = await Promise.all([
    openOnServer({ handlers: [handler], ...named }),
    openOnServer({ handlers: [handler] }),
  ]);
  await enqueue(database, handler, {});
  await enqueue(other, handler, {});

  const runs = await database.drain();

  expect(runs.map(({ result }) => result)).toEqual([['https://x.test', 'fake']]);
  await expect(other.drain()).rejects.toThrow(
    "named: settings.API_URL: expected { API_URL: '…' } in the option settings",
  );
});
