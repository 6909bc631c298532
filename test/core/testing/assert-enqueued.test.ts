import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, enqueue } from '../../../core/index.ts';
import {
  assertEnqueued,
  assertNotEnqueued,
  enqueued,
  type MillraceMatchers,
  millraceMatchers,
} from '../../../core/testing/assert-enqueued.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';

declare module 'vitest' {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> extends MillraceMatchers {}
}

expect.extend(millraceMatchers);

const sendMail = defineHandler({
  jobType: 'send_mail',
  payload: z.object({
    to: z.string(),
    lines: z.array(z.string()).optional(),
    at: z.coerce.date().optional(),
    from: z.object({ name: z.string(), address: z.string() }).optional(),
  }),
  run: async () => undefined,
});
const byFax = { ...sendMail, routingKey: 'fax' };
const charge = defineHandler({ jobType: 'charge', payload: z.object({}), run: async () => undefined });
const RUN_AT = new Date('2027-01-31T02:00:00Z');

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
beforeEach(() => database.pool.query("delete from millrace.jobs_live; select setval('millrace.job_ids', 1, false)"));
afterAll(() => database.drop());

/** Runs `work` in a transaction that is rolled back. */
async function inTransaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await database.pool.connect();
  await client.query('begin');
  try {
    return await work(client);
  } finally {
    await client.query('rollback');
    client.release();
  }
}

const messageOf = (assertion: Promise<unknown>) =>
  assertion.then(
    () => 'passed',
    (error: Error) => error.message,
  );

it('outside of a transaction, lists all jobs of the database with what they were enqueued with', async () => {
  await enqueue(database.pool, sendMail, { to: 'ada' }, { runAt: RUN_AT, uniqueKey: 'ada', maxAttempts: 2 });
  await enqueue(database.pool, charge, {});

  const jobs = await enqueued(database.pool);

  expect(jobs).toEqual([
    {
      ...{ id: '1', jobType: 'send_mail', routingKey: '', payload: { to: 'ada' }, status: 'pending', priority: 5 },
      ...{ maxAttempts: 2, runAt: RUN_AT, startBy: null, uniqueKey: 'ada', groupKey: null },
    },
    expect.objectContaining({ id: '2', jobType: 'charge' }),
  ]);
  expect(await enqueued(database.pool, charge)).toHaveLength(1);
  expect(await enqueued(database.pool, 'send_mail', { to: 'bob' })).toEqual([]);
});

it('in a transaction, lists only the jobs that this transaction inserted, also after a savepoint', async () => {
  await enqueue(database.pool, sendMail, { to: 'committed before' });

  const jobs = await inTransaction(async (client) => {
    await enqueue(client, sendMail, { to: 'ada' });
    await client.query('savepoint before_bob');
    await enqueue(client, sendMail, { to: 'bob' });
    await client.query('release savepoint before_bob');
    await enqueue(database.pool, sendMail, { to: 'by another connection' });
    return enqueued(client, sendMail);
  });

  expect(jobs.map(({ payload }) => payload)).toEqual([{ to: 'ada' }, { to: 'bob' }]);
});

it('a transaction that has changed nothing has enqueued nothing, whatever the database contains', async () => {
  await enqueue(database.pool, sendMail, { to: 'ada' });

  const message = await inTransaction((client) => messageOf(assertEnqueued(client, sendMail, { to: 'ada' })));

  expect(message).toBe(
    'expected that this transaction had enqueued a job send_mail with {"to":"ada"}; it enqueued no job\n' +
      'job 1 matches, but another transaction enqueued it: pass this client to enqueue',
  );
});

it('works with any search path, and with a driver that parses only text', async () => {
  const parse = (value: string) => value;
  const refuse = () => {
    throw new Error('parsed');
  };
  const types = { getTypeParser: (oid: number) => (oid === 25 ? parse : refuse) };
  const client = new pg.Client({ connectionString: database.url, types: types as never });
  await client.connect();
  await client.query('create schema other; set search_path = other');
  await enqueue(database.pool, sendMail, { to: 'ada' }, { runAt: RUN_AT });

  const jobs = await enqueued(client);
  await client.end();

  expect(jobs).toMatchObject([{ payload: { to: 'ada' }, runAt: RUN_AT }]);
});

it.each<[string, object, object]>([
  ['a member', { to: 'ada' }, {}],
  ['a nested member', { from: { name: 'Bank' } }, {}],
  ['a Date, stored as its text', { at: RUN_AT }, {}],
  ['a whole array', { lines: ['one', 'two'] }, {}],
  ['a matcher of the runner', { to: expect.stringMatching(/^a/) }, {}],
  ['an option', {}, { runAt: RUN_AT, priority: 0, groupKey: 'bank', status: 'pending' }],
])('a job matches by %s', async (_what, payload, options) => {
  const whole = { to: 'ada', lines: ['one', 'two'], at: RUN_AT, from: { name: 'Bank', address: 'b@example.com' } };
  await enqueue(database.pool, sendMail, whole, { runAt: RUN_AT, priority: 0, groupKey: 'bank' });

  const job = await assertEnqueued(database.pool, sendMail, payload as never, options);

  expect(job.payload).toMatchObject({ to: 'ada' });
  await expect(database.pool).toHaveEnqueued(sendMail, payload as never, options);
});

it.each<[string, object, object]>([
  ['another value', { to: 'bob' }, {}],
  ['a part of an array', { lines: ['one'] }, {}],
  ['a missing member', { from: { name: 'Bank' } }, {}],
  ['another option', {}, { priority: 1 }],
])('a job does not match by %s', async (_what, payload, options) => {
  await enqueue(database.pool, sendMail, { to: 'ada', lines: ['one', 'two'] });

  await assertNotEnqueued(database.pool, sendMail, payload as never, options);
  await expect(database.pool).not.toHaveEnqueued(sendMail, payload as never, options);
});

it('a handler matches only its routing key, and a job type any', async () => {
  await enqueue(database.pool, byFax, { to: 'ada' });

  await assertNotEnqueued(database.pool, sendMail);
  await assertEnqueued(database.pool, byFax);
  await assertEnqueued(database.pool, 'send_mail');
});

it('a failure lists what was enqueued instead', async () => {
  await enqueue(database.pool, sendMail, { to: 'bob' }, { runAt: RUN_AT, uniqueKey: 'bob' });

  const text = await messageOf(assertEnqueued(database.pool, sendMail, { to: 'ada' }, { priority: 0 }));
  const matcher = await messageOf(expect(database.pool).toHaveEnqueued(charge));
  const refused = await messageOf(assertNotEnqueued(database.pool, sendMail));

  const bob =
    '  1 send_mail {"to": "bob"} {"status":"pending","priority":5,"runAt":"2027-01-31T02:00:00.000Z","uniqueKey":"bob"}';
  expect(text.replace('{"to":"bob"}', '{"to": "bob"}')).toBe(
    'expected that a transaction of this database had enqueued a job send_mail with {"to":"ada"} and {"priority":0}; ' +
      `it enqueued:\n${bob}`,
  );
  expect(matcher).toContain('had enqueued a job charge; it enqueued:\n  1 send_mail');
  expect(refused).toContain(
    'expected that a transaction of this database had not enqueued a job send_mail:\n  1 send_mail',
  );
});

it('a failure lists until when a job may start, if it is limited', async () => {
  await enqueue(database.pool, sendMail, { to: 'bob' }, { runAt: RUN_AT, startBy: new Date('2027-01-31T04:00:00Z') });

  const text = await messageOf(assertEnqueued(database.pool, sendMail, {}, { startBy: RUN_AT }));

  expect(text).toContain('"runAt":"2027-01-31T02:00:00.000Z","startBy":"2027-01-31T04:00:00.000Z"}');
});

it('a failure lists the newest twenty jobs', async () => {
  for (let n = 0; n < 25; n++) await enqueue(database.pool, sendMail, { to: `user ${n}` });

  const message = await messageOf(assertEnqueued(database.pool, charge));

  expect(message.split('\n').slice(1, 3).join()).toMatch(/^ {2}5 older jobs, {2}6 send_mail \{"to":"user 5"\}/);
  expect(message.split('\n')).toHaveLength(22);
});

it.each([
  ['a job type instead of a client', () => assertEnqueued('send_mail' as never, sendMail), 'client: expected'],
  ['a missing handler', () => assertEnqueued(database.pool, undefined as never), 'handler: expected the definition'],
  ['a duration, which no job has', () => enqueued(database.pool, charge, {}, { startBy: '10m' } as never), 'got "10m"'],
  ['an unknown option', () => enqueued(database.pool, sendMail, {}, { delay: '1s' } as never), 'unknown option delay'],
])('refuses %s', async (_what, call, message) => {
  await expect(call()).rejects.toThrow(message);
});
