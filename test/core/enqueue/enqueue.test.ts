import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, enqueue, enqueueMany, PayloadInvalid } from '../../../core/index.ts';
import { createClient, createDatabase, type TestDatabase } from '../../support/database.ts';

const note = defineHandler({
  jobType: 'write_note',
  payload: z.object({ note: z.string(), at: z.iso.datetime().optional() }),
  run: async ({ payload }) => {
    expectTypeOf(payload.at).toEqualTypeOf<string | undefined>();
  },
});
const anything = defineHandler({ jobType: 'take_anything', routingKey: 'all', payload: z.any(), run: async () => 1 });

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

async function row(id: string): Promise<Record<string, unknown>> {
  const { rows } = await database.pool.query(
    `select *, payload::text as payload, extract(epoch from run_at - created_at)::float8 as wait
       from millrace.jobs where id = $1`,
    [id],
  );
  return rows[0];
}

async function count(): Promise<number> {
  const { rows } = await database.pool.query('select count(*)::integer as jobs from millrace.jobs');
  return rows[0].jobs;
}

describe('enqueue', () => {
  it("inserts a job with the database's defaults", async () => {
    const { id, deduplicated } = await enqueue(database.pool, note, { note: 'ok 😀' });

    const job = await row(id);

    expect(deduplicated).toBe(false);
    expect(job).toMatchObject({ job_type: 'write_note', routing_key: '', status: 'pending', priority: 5 });
    expect(job).toMatchObject({ max_attempts: 5, unique_key: null, group_key: null, wait: 0 });
    expect(job.payload).toBe('{"note": "ok 😀"}');
  });

  it('stores every option', async () => {
    const options = { runAt: new Date('2030-01-02T03:04:05.678Z'), priority: 0, maxAttempts: 2 };

    const { id } = await enqueue(database.pool, anything, [1], { ...options, uniqueKey: 'u', groupKey: 'g' });

    const job = await row(id);
    expect(job).toMatchObject({ routing_key: 'all', run_at: options.runAt, priority: 0, max_attempts: 2 });
    expect(job).toMatchObject({ unique_key: 'u', group_key: 'g' });
  });

  it("adds a delay to the database's clock", async () => {
    const { id } = await enqueue(database.pool, note, { note: '' }, { delay: '90s' });

    const { wait } = await row(id);

    expect(wait).toBe(90);
  });

  it('returns the id of the unfinished job with the unique key', async () => {
    const first = await enqueue(database.pool, note, { note: '1' }, { uniqueKey: 'once' });

    const second = await enqueue(database.pool, note, { note: '2' }, { uniqueKey: 'once' });

    expect(second).toEqual({ id: first.id, deduplicated: true, replaced: false });
  });

  it("a rollback of the caller's transaction removes the job", async () => {
    const client = await createClient(database.url);
    await client.query('begin');
    const { id } = await enqueue(client, note, { note: 'never' });

    await client.query('rollback');

    expect(await row(id)).toBeUndefined();
  });

  it("refuses a payload that violates the handler's schema, and inserts nothing", async () => {
    const before = await count();
    const payload = { note: 13 } as unknown as { note: string };

    const refused = enqueue(database.pool, note, payload);

    await expect(refused).rejects.toThrow(PayloadInvalid);
    await expect(refused).rejects.toMatchObject({
      field: '/note',
      message: expect.stringMatching(/^write_note: payload\/note: /),
    });
    expect(await count()).toBe(before);
  });

  it("checks the payload's type against the schema", () => {
    // @ts-expect-error note is text
    const wrong = () => enqueue(database.pool, note, { note: 1 });

    expect(wrong).toBeTypeOf('function');
  });
});

it('accepts every key of 1 to 500 characters that Postgres can store', async () => {
  const key = fc.string({ unit: 'binary', minLength: 1, maxLength: 500 }).filter((text) => !text.includes('\0'));

  await fc.assert(
    fc.asyncProperty(key, async (uniqueKey) => {
      const { id } = await enqueue(database.pool, anything, null, { uniqueKey });
      expect((await row(id)).unique_key).toBe(uniqueKey);
    }),
    { numRuns: 50 },
  );
});

describe('enqueueMany', () => {
  it('inserts jobs of several handlers and returns results in order', async () => {
    const items = [
      { handler: note, payload: { note: 'a' }, uniqueKey: 'many-b', delay: '1m' },
      { handler: anything, payload: { b: 1 }, priority: 9 },
      { handler: note, payload: { note: 'c' }, uniqueKey: 'many-a', runAt: new Date(0) },
      { handler: note, payload: { note: 'd' }, uniqueKey: 'many-a' },
    ] as const;

    const answers = await enqueueMany(database.pool, items);

    const rows = await Promise.all(answers.map(({ id }) => row(id)));
    expect(rows.map(({ payload }) => payload)).toEqual(['{"note": "a"}', '{"b": 1}', '{"note": "c"}', '{"note": "c"}']);
    expect(answers.map(({ deduplicated }) => deduplicated)).toEqual([false, false, false, true]);
    expect(rows[0]).toMatchObject({ wait: 60 });
    expect(rows[1]).toMatchObject({ priority: 9, routing_key: 'all' });
    expect(rows[2]).toMatchObject({ run_at: new Date(0), unique_key: 'many-a' });
  });

  it('accepts a list that is built at run time', async () => {
    const items = Array.from({ length: 1000 }, (_, index) => ({ handler: note, payload: { note: `${index}` } }));

    const answers = await enqueueMany(database.pool, items);

    expect(new Set(answers.map(({ id }) => id)).size).toBe(1000);
  });

  it('inserts nothing for an empty list', async () => {
    expect(await enqueueMany(database.pool, [])).toEqual([]);
  });

  it("checks each payload's type against its own schema", () => {
    const item = { handler: anything, payload: 1 };
    // @ts-expect-error note is missing
    const wrong = () => enqueueMany(database.pool, [item, { handler: note, payload: {} }]);

    expect(wrong).toBeTypeOf('function');
  });
});
