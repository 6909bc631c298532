import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, type EnqueueOptions, enqueue, enqueueMany, SettingError } from '../../../core/index.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';

const note = defineHandler({
  jobType: 'write_note',
  payload: z.object({ note: z.string() }),
  run: async () => undefined,
});

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const BAD_OPTIONS: [string, EnqueueOptions][] = [
  ['runAt', { runAt: new Date(Number.NaN) }],
  ['runAt', { runAt: new Date(8.64e15) }],
  ['delay', { delay: -1 }],
  ['delay', { delay: 'soon' }],
  ['delay', { delay: Number.POSITIVE_INFINITY }],
  ['delay', { delay: 1e12 }],
  ['delay', { delay: 1, runAt: new Date(0) }],
  ['priority', { priority: 10 }],
  ['priority', { priority: -1 }],
  ['priority', { priority: 1.5 }],
  ['maxAttempts', { maxAttempts: 0 }],
  ['maxAttempts', { maxAttempts: 1001 }],
  ['uniqueKey', { uniqueKey: '' }],
  ['uniqueKey', { uniqueKey: 'x'.repeat(501) }],
  ['uniqueKey', { uniqueKey: 'a\0b' }],
  ['uniqueKey', { uniqueKey: 'a\ud83d' }],
  ['groupKey', { groupKey: '' }],
  ['groupKey', { groupKey: 7 as unknown as string }],
];

it.each(BAD_OPTIONS)('refuses an invalid %s and names it', async (field, options) => {
  const refused = enqueue(database.pool, note, { note: '' }, options);

  await expect(refused).rejects.toThrow(SettingError);
  await expect(refused).rejects.toMatchObject({ field });
});

describe('a mistake that JavaScript accepts', () => {
  const unsafe = (options: object) => enqueue(database.pool, note, { note: '' }, options);

  it.each(['uniquekey', 'unique_key', 'runat', 'prio'])('is refused when it is an unknown option: %s', async (name) => {
    const sentence = `${name}: unknown option; the options are runAt, delay, startBy, priority,`;

    await expect(unsafe({ [name]: 'x' })).rejects.toMatchObject({ name: 'SettingError', field: name });
    await expect(unsafe({ [name]: 'x' })).rejects.toThrow(sentence);
    const item = { handler: note, payload: { note: '' }, [name]: 'x' };
    await expect(enqueueMany(database.pool, [item])).rejects.toThrow(`items[0].${sentence}`);
  });

  it.each([['send_reminder'], [undefined], [{ jobType: 'send_reminder' }]])(
    'is refused as a handler: %j',
    async (it) => {
      const refused = enqueue(database.pool, it as unknown as typeof note, { note: '' });

      await expect(refused).rejects.toThrow(SettingError);
      await expect(refused).rejects.toThrow('handler: expected the definition that defineHandler returns');
    },
  );

  it('is ignored when it is a malformed traceparent, and refused when that is not text', async () => {
    const { id } = await unsafe({ traceparent: 't'.repeat(100) });

    const { rows } = await database.pool.query('select traceparent from millrace.jobs where id = $1', [id]);
    expect(rows).toEqual([{ traceparent: null }]);
    await expect(unsafe({ traceparent: 7 })).rejects.toMatchObject({ field: 'traceparent' });
  });
});

it.each(BAD_OPTIONS)('refuses an invalid %s among many items, and names it with its index', async (field, options) => {
  const good = { handler: note, payload: { note: '' } };

  const refused = enqueueMany(database.pool, [good, { ...good, ...options }]);

  await expect(refused).rejects.toThrow(SettingError);
  await expect(refused).rejects.toMatchObject({ field: `items[1].${field}` });
});

it.each([undefined, null, 'postgres://localhost', note])('refuses %s as the client and names it', async (client) => {
  const one = enqueue(client as never, note, { note: '' });
  const many = enqueueMany(client as never, [{ handler: note, payload: { note: '' } }]);

  for (const refused of [one, many]) {
    await expect(refused).rejects.toThrow(/^client: expected a connection or a pool of pg, or an object with the same/);
  }
});

it.each([undefined, {}, { rows: 1 }])('names the client when its result is %j', async (result) => {
  const client = { query: async () => result };

  const refused = enqueue(client as never, note, { note: '' });

  await expect(refused).rejects.toThrow(/^client: expected a client whose query.* returns \{ rows \} or the rows/);
});

it('accepts a client that returns only the rows', async () => {
  const client = { query: async (text: string, values: unknown[]) => (await database.pool.query(text, values)).rows };

  const one = await enqueue(client, note, { note: '1' });
  const many = await enqueueMany(client, [{ handler: note, payload: { note: '2' } }]);

  expect([one, ...many].map(({ deduplicated }) => deduplicated)).toEqual([false, false]);
});

it.each([undefined, note, { handler: note }, 'write_note'])('refuses %s as the items and names them', async (items) => {
  const refused = enqueueMany(database.pool, items as never);

  await expect(refused).rejects.toThrow(/^items: expected an array such as \[{ handler, payload }\]/);
});
