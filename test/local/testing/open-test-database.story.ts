import pg from 'pg';
import { expect, inject, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, enqueue, enqueueAll } from '../../../core/index.ts';
import { assertEnqueued } from '../../../core/testing/assert-enqueued.ts';
import { openTestDatabase } from '../../../local/testing/testing.ts';
import { ask } from '../../support/postgres-server.ts';
import { openOnServer } from '../../support/test-databases.ts';

const NOW = '2027-01-31T02:00:00.000Z';
const work = defineHandler({
  jobType: 'work',
  payload: z.object({}),
  maxAttempts: 2,
  schedules: { hourly: { cron: '0 * * * *' } },
  run: async () => 'real',
});

it('is migrated, empty and separate from others, and its address serves the pool of an application', async () => {
  const [one, other] = await Promise.all([openOnServer(), openOnServer()]);
  const pool = new pg.Pool({ connectionString: one.connectionString });

  await enqueue(pool, work, {});
  await pool.end();

  expect((await one.query('select job_type from millrace.jobs')).rows).toEqual([{ job_type: 'work' }]);
  expect((await other.query('select from millrace.jobs')).rows).toEqual([]);
});

it('its clock shows the given time until it is set, for every statement of the engine', async () => {
  const database = await openOnServer({ handlers: [work], now: NOW });

  await enqueue(database, work, {}, { delay: '1h' });
  await database.advance('30m');
  const advanced = await database.now();
  await database.setNow('2028-01-01T00:00:00Z');

  await assertEnqueued(database, work, {}, { runAt: new Date('2027-01-31T03:00:00Z') });
  expect(advanced.toISOString()).toBe('2027-01-31T02:30:00.000Z');
  expect(await database.now()).toEqual(new Date('2028-01-01T00:00:00Z'));
});

it('its clock shows the present time by default', async () => {
  const before = Date.now();

  const database = await openOnServer();

  const now = (await database.now()).getTime();
  expect(now).toBeGreaterThanOrEqual(before);
  expect(now).toBeLessThanOrEqual(Date.now());
});

it('the deployed handlers determine the attempts of jobs, and enqueueAll finds them', async () => {
  const database = await openOnServer({ handlers: [work] });

  await enqueueAll(database, work, {});

  expect(await assertEnqueued(database, work)).toMatchObject({ maxAttempts: 2 });
});

it('other handlers can be deployed later', async () => {
  const database = await openOnServer({ handlers: [work] });
  await enqueue(database, work, {});

  await database.deploy([]);
  const without = await database.drain();
  await database.deploy([{ ...work, run: async () => 'stub' }]);
  const [run] = await database.drain();

  expect(without).toEqual([]);
  expect(run?.result).toBe('stub');
});

it('a transaction commits, or is rolled back with the error of its work', async () => {
  const database = await openOnServer();

  const value = await database.transaction(async (client) => {
    await enqueue(client, work, {});
    return 'done';
  });
  const failed = database.transaction(async (client) => {
    await enqueue(client, work, {});
    throw new Error('the order is invalid');
  });

  await expect(failed).rejects.toThrow('the order is invalid');
  expect(value).toBe('done');
  expect((await database.query('select from millrace.jobs')).rows).toHaveLength(1);
});

it('clear deletes all jobs, and begins again at the first time', async () => {
  const database = await openOnServer({ handlers: [work], now: NOW });
  await enqueue(database, work, {});
  const first = await database.drain({ until: '2h' });

  await database.clear();
  const jobs = await database.query('select from millrace.jobs');
  const again = await database.drain({ until: '2h' });

  expect(jobs.rows).toEqual([]);
  expect(first.map(({ at }) => at.toISOString().slice(11, 13))).toEqual(['02', '03', '04']);
  expect(again.map(({ at }) => at.toISOString().slice(11, 13))).toEqual(['03', '04']);
});

it('a query of several statements returns the rows of the last one', async () => {
  const database = await openOnServer();

  const { rows } = await database.query('create table orders (id integer); select 7 as answer');

  expect(rows).toEqual([{ answer: 7 }]);
});

it('close drops the database', async () => {
  const serverUrl = inject('postgres').url;
  const database = await openTestDatabase({ serverUrl });
  const name = new URL(database.connectionString).pathname.slice(1);
  const count = () => ask(serverUrl, `select count(*) from pg_database where datname = '${name}'`);
  const before = await count();

  await database.close();

  expect([before, await count()]).toEqual(['1', '0']);
});

it.each([
  [{ now: 'yesterday' }, 'now: expected a Date, or a time such as 2027-01-31T02:00:00Z, got "yesterday"'],
  [{ handlers: ['work'] }, 'handlers[0].handler: expected the definition'],
  [{ handlers: [work, work] }, 'handlers: expected one definition of work'],
  [{ serverUrl: 'postgres://127.0.0.1:1/none' }, 'ECONNREFUSED'],
  [{ handler: [work] }, 'openTestDatabase: unknown option handler'],
])('refuses the options %j', async (options, message) => {
  await expect(openOnServer(options as never)).rejects.toThrow(message);
});
