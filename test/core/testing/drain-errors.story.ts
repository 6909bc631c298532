import { expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, enqueue } from '../../../core/index.ts';
import { openOnServer } from '../../support/test-databases.ts';

const NOW = new Date('2027-01-31T02:00:00Z');
const flaky = defineHandler({ jobType: 'flaky', payload: z.object({}), run: async () => undefined });
const nightly = defineHandler({
  jobType: 'nightly',
  payload: z.object({}),
  schedules: { 'nightly-report': { cron: '0 3 * * *' } },
  run: async () => undefined,
});

it('ends with an error when jobs enqueue each other without an end', async () => {
  const loop = defineHandler({
    jobType: 'loop',
    payload: z.object({}),
    run: async () => void (await enqueue(database, loop, {}, { delay: '1h' })),
  });
  const database = await openOnServer({ handlers: [loop], now: NOW });
  await enqueue(database, loop, {});

  const error = await database.drain({ maxRuns: 5 }).catch((thrown: Error) => thrown);

  expect(error).toMatchObject({
    message:
      'drain ran more than 5 attempts (6 of loop), and jobs still wait at 2027-01-31T07:00:00.000Z: pass until, or a ' +
      'larger maxRuns',
  });
});

it('ends with an error when another transaction has locked a due job', async () => {
  const database = await openOnServer({ handlers: [flaky], now: NOW });
  const { id } = await enqueue(database, flaky, {});

  const error = await database.transaction(async (client) => {
    await client.query('select from millrace.jobs_live where id = $1 for update', [id]);
    return database.drain().catch((thrown: Error) => thrown);
  });

  expect(error).toMatchObject({
    message: expect.stringContaining(`job ${id} is due, but the dispatcher cannot claim it`),
  });
  expect(await database.drain()).toHaveLength(1);
});

it('ends with the error of the engine, which a deployment would log and try again', async () => {
  const database = await openOnServer({ handlers: [nightly], now: NOW });
  await database.query('alter table millrace.schedule_ticks add constraint refused check (tick_at is null)');

  await expect(database.drain({ until: '1d' })).rejects.toThrow(/^schedules?_failed: .*refused/);
});

it.each([
  [{ until: new Date('never') }, 'until: expected a valid Date'],
  [{ until: 'tomorrow' }, 'until: expected a duration'],
  [{ maxRuns: 0 }, 'maxRuns: expected a whole number from 1'],
  [{ limit: 5 }, 'drain: unknown option limit'],
])('refuses the options %j', async (options, message) => {
  const database = await openOnServer();

  await expect(database.drain(options as never)).rejects.toThrow(message);
});
