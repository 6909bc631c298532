import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { parsePayload, payloadJson } from '../../../core/handler/payload.ts';
import { defineHandler, enqueue, enqueueMany, PayloadInvalid } from '../../../core/index.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';

const anything = defineHandler({ jobType: 'take_anything', payload: z.any(), run: async () => undefined });

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

async function stored(id: string): Promise<string> {
  const { rows } = await database.pool.query('select payload::text as payload from millrace.jobs where id = $1', [id]);
  return rows[0].payload;
}

async function count(): Promise<number> {
  const { rows } = await database.pool.query('select count(*)::integer as jobs from millrace.jobs');
  return rows[0].jobs;
}

describe('PAY-01: NUL or half a surrogate', () => {
  it.each([
    ['/note', { note: 'ab\0cd' }],
    ['/note', { note: 'x\ud83d' }],
    ['/a/1/b~1c', { a: ['', { 'b/c': '\udc00' }] }],
    ['/no\0te', { 'no\0te': '' }],
    ['', '\0'],
  ])('is refused at %j before the insert', async (field, payload) => {
    const before = await count();

    const refused = enqueue(database.pool, anything, payload);

    await expect(refused).rejects.toThrow(PayloadInvalid);
    await expect(refused).rejects.toMatchObject({ field });
    expect(await count()).toBe(before);
  });

  it('is refused with its index, and none of fifty jobs is inserted', async () => {
    const before = await count();
    const items = Array.from({ length: 50 }, (_, index) => ({
      handler: anything,
      payload: { note: index === 30 ? 'ab\0cd' : 'fine' },
    }));

    const refused = enqueueMany(database.pool, items);

    await expect(refused).rejects.toMatchObject({ field: '[30]/note' });
    await expect(refused).rejects.toThrow('payload[30]/note: has a NUL');
    expect(await count()).toBe(before);
  });

  it('does not affect complete characters', async () => {
    const { id } = await enqueue(database.pool, anything, { note: 'ok 😀' });

    expect(await stored(id)).toBe('{"note": "ok 😀"}');
  });

  it('is refused by the database itself, and the session continues', async () => {
    const insert = (payload: string) =>
      database.pool.query(`insert into millrace.jobs (job_type, payload) values ('take_anything', $1)`, [payload]);

    await expect(insert('{"note":"ab\\u0000cd"}')).rejects.toMatchObject({ code: '22P05' });
    await expect(insert('{"note":"x\\ud83d"}')).rejects.toMatchObject({ code: '22P02' });
    await expect(insert('{"note":"ok 😀"}')).resolves.toMatchObject({ rowCount: 1 });
  });
});

describe('PAY-04: numbers and dates', () => {
  const DIGITS = '{"n":9007199254740993,"e":1e400,"p":1.10}';

  it('keep every digit of an insert with SQL', async () => {
    const { rows } = await database.pool.query(
      `insert into millrace.jobs (job_type, payload) values ('take_anything', $1) returning id`,
      [DIGITS],
    );

    expect(await stored(rows[0].id)).toBe(`{"e": 1${'0'.repeat(400)}, "n": 9007199254740993, "p": 1.10}`);
  });

  it.each([
    ['/n', '{"n":9007199254740993}'],
    ['/e', '{"e":1e400}'],
    ['', '9007199254740993'],
    ['/1', '[1,9007199254740993]'],
    ['/a/0/deep', '{"a":[{"deep":-9007199254740993}]}'],
    ['/a/n', '{"n":1,"a":{"n":9007199254740993},"z":9007199254740995}'],
    ['/a~1b/c~0d', '{"a/b":{"c~d":9007199254740993}}'],
    ['/__proto__/n', '{"__proto__":{"n":9007199254740993}}'],
  ])('fail the attempt when a number would change, with its pointer: %s', async (field, json) => {
    const refused = parsePayload(json, anything.payload);

    await expect(refused).rejects.toThrow(PayloadInvalid);
    await expect(refused).rejects.toMatchObject({ field });
  });

  it('name a part that the schema refuses by the same pointer, with ~ and / escaped', async () => {
    const schema = z.object({ 'a/b': z.object({ 'c~d': z.string() }) });

    const refused = parsePayload('{"a/b":{"c~d":1}}', schema);

    await expect(refused).rejects.toMatchObject({ field: '/a~1b/c~0d' });
  });

  it.each([
    [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'payload: is nested more than 500 deep'],
    ['{"half":', 'payload: is not JSON'],
  ])('make a dead letter when they are unreadable', async (json, fault) => {
    const refused = parsePayload(json, anything.payload);

    await expect(refused).rejects.toThrow(PayloadInvalid);
    await expect(refused).rejects.toThrow(fault);
  });

  it('reach the handler unchanged when JavaScript represents them exactly', async () => {
    const value = await parsePayload('{"n": 9007199254740992, "p": 1.10, "z": -0.0, "e": 1E3}', anything.payload);

    expect(value).toEqual({ n: 9007199254740992, p: 1.1, z: -0, e: 1000 });
  });

  it.each([
    ['/b', { b: 10n }, 'BigInt'],
    ['/m', { m: new Map([[1, 2]]) }, 'Map'],
    ['/s', { s: new Set([1]) }, 'Set'],
    ['/x', { x: Number.NaN }, 'NaN'],
    ['/x', { x: Number.NEGATIVE_INFINITY }, 'Infinity'],
    ['/f', { f: () => 1 }, 'function'],
    ['/d', { d: new Date(Number.NaN) }, 'invalid Date'],
    ['/all/0/b', { all: [{ d: new Date(0), b: 10n, m: new Map(), x: Number.NaN }] }, 'BigInt'],
  ])('are refused at enqueue with the name of the key: %s', async (field, payload, word) => {
    const refused = enqueue(database.pool, anything, payload);

    await expect(refused).rejects.toMatchObject({ field, message: expect.stringContaining(word) });
  });

  it('convert a Date to text, which the handler receives', async () => {
    const { id } = await enqueue(database.pool, anything, { d: new Date(0) });

    expect(await stored(id)).toBe('{"d": "1970-01-01T00:00:00.000Z"}');
  });

  it('refuse a Date at enqueue when the schema requires one, because the handler would receive text', async () => {
    const wrong = defineHandler({ jobType: 'take_date', payload: z.object({ d: z.date() }), run: async () => 1 });

    const refused = enqueue(database.pool, wrong, { d: new Date(0) });

    await expect(refused).rejects.toMatchObject({ field: '/d' });
  });
});

describe('payloadJson', () => {
  it('refuses a value that contains itself', () => {
    const loop: Record<string, unknown> = {};
    loop.again = { loop };

    expect(() => payloadJson(loop)).toThrow('payload/again/loop: contains itself');
  });

  it('accepts the same object in two places', () => {
    const twice = { a: 1 };

    expect(payloadJson([twice, twice])).toBe('[{"a":1},{"a":1}]');
  });

  it('refuses a payload nested more than 500 deep', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

    expect(payloadJson(nested(500))).toHaveLength(1001);
    expect(() => payloadJson(nested(501))).toThrow('nested more than 500 deep');
  });

  it('limits bytes, not characters', () => {
    expect(() => payloadJson('€'.repeat(349_526))).toThrow('has 1048580 bytes, more than the limit of 1048576');
    expect(payloadJson('e'.repeat(1_048_574))).toHaveLength(1_048_576);
  });

  it('converts undefined to an empty object, and keeps null', () => {
    expect([payloadJson(undefined), payloadJson(null)]).toEqual(['{}', 'null']);
    expect(payloadJson({ toJSON: () => undefined })).toBe('{}');
  });
});
