import { describe, expect, it } from 'vitest';
import { openApi } from './world.ts';

const { ask, pool, woken } = await openApi();

const post = (body: unknown) => ask('/jobs/bulk', { method: 'POST', body });
const send = (text: string) => ask('/jobs/bulk', { method: 'POST', text });
const count = async () => (await pool.query('select count(*)::int as n from millrace.jobs')).rows[0].n as number;
const jobs = (length: number) => Array.from({ length }, (_, n) => ({ job_type: 'any', payload: { n } }));

describe('POST /jobs/bulk', () => {
  it('inserts a thousand jobs in order and wakes the dispatcher once', async () => {
    const before = woken.length;

    const { status, body } = await post({ jobs: jobs(1000) });

    const ids = body.items.map(({ id }: { id: string }) => id);
    const { rows } = await pool.query('select id, payload from millrace.jobs where id = any($1) order by id', [ids]);
    expect({ status, inserted: body.inserted, failed: body.failed }).toEqual({
      status: 201,
      inserted: 1000,
      failed: 0,
    });
    expect(rows.map((row) => row.id)).toEqual(ids);
    expect(rows.map((row) => row.payload.n)).toEqual(jobs(1000).map(({ payload }) => payload.n));
    expect(woken.length).toBe(before + 1);
  });

  it('reports which jobs were already there', async () => {
    const { body } = await post({
      jobs: [
        { job_type: 'any', unique_key: 'twin' },
        { job_type: 'any', unique_key: 'twin' },
      ],
    });

    expect(body).toMatchObject({
      inserted: 1,
      deduplicated: 1,
      items: [{ deduplicated: false }, { deduplicated: true }],
    });
    expect(body.items[0].id).toBe(body.items[1].id);
  });

  it('PAY-01: inserts none of fifty jobs when the 31st is invalid, and points to it', async () => {
    const some: unknown[] = jobs(50);
    some[30] = { job_type: 'any', payload: { note: 'ab\0cd' } };
    const before = await count();

    const { status, body } = await post({ jobs: some });

    expect(status).toBe(422);
    expect(body.errors).toEqual([{ in: 'body', pointer: '/jobs/30/payload/note', detail: expect.any(String) }]);
    expect(await count()).toBe(before);
  });

  it('PAY-01: inserts the other 49 jobs with `atomic: false`', async () => {
    const some: unknown[] = jobs(50);
    some[30] = { job_type: 'any', payload: { note: 'ab\0cd' } };
    const before = await count();

    const { status, body } = await post({ jobs: some, atomic: false });

    expect({ status, inserted: body.inserted, failed: body.failed }).toEqual({ status: 207, inserted: 49, failed: 1 });
    expect(body.items[30]).toMatchObject({ index: 30, errors: [{ pointer: '/jobs/30/payload/note' }] });
    expect(body.items[31]).toMatchObject({ index: 31, id: expect.any(String) });
    expect(await count()).toBe(before + 49);
  });

  it('reports every error of every job', async () => {
    const { body } = await post({
      jobs: [
        { job_type: 'unknown' },
        { job_type: 'any', priority: 11, colour: 1 },
        5,
        { job_type: 'mail', payload: {} },
      ],
    });

    const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect(pointers).toEqual([
      '/jobs/0/job_type',
      '/jobs/1/priority',
      '/jobs/1/colour',
      '/jobs/2',
      '/jobs/3/payload/to',
    ]);
  });

  const keys = Array.from({ length: 500 }, (_, n) => `k${n}`);
  const manyFaults: [string, string, number][] = [
    ['unknown keys', `{${keys.map((key) => `"${key}":0`)}}`, 400],
    ['a long key', `{"${'~'.repeat(1_000_000)}":0}`, 1],
    ['a long job type and unknown keys', `{"job_type":"${'x'.repeat(900)}",${keys.map((key) => `"${key}":0`)}}`, 300],
  ];

  it.each(manyFaults)('bounds its response to jobs with %s', async (_name, job, length) => {
    const list = Array(length).fill(job).join(',');

    const one = await send(`{"jobs":[${list}]}`);
    const each = await send(`{"atomic":false,"jobs":[${list},{"job_type":"any"}]}`);

    const shown = each.body.items.flatMap(({ errors = [] }: { errors?: unknown[] }) => errors);
    expect([one.status, each.status]).toEqual([422, 207]);
    expect(one.body.errors.length).toBeLessThanOrEqual(100);
    expect(shown.length).toBeLessThanOrEqual(length + 100);
    expect(Math.max(one.text.length, each.text.length)).toBeLessThan(2_000_000);
  });

  it('counts the errors that it does not list', async () => {
    const job = Object.fromEntries(keys.map((key) => [key, 0]));

    const { body } = await post({ jobs: [job, job, { job_type: 'any' }], atomic: false });

    const counts = body.items.map((item: { errors?: unknown[]; more_errors?: number }) => [
      item.errors?.length,
      item.more_errors,
    ]);
    expect(counts).toEqual([
      [100, 401],
      [2, 499],
      [undefined, undefined],
    ]);
  });

  it('PAY-04: keeps every digit of every payload', async () => {
    const { body } = await send(
      '{"jobs":[{"job_type":"any","payload":{"p":1.10}},{"job_type":"any","payload":[1e2,0.50]}]}',
    );

    const ids = body.items.map(({ id }: { id: string }) => id);
    const { rows } = await pool.query('select payload::text as p from millrace.jobs where id = any($1) order by id', [
      ids,
    ]);
    expect(rows.map(({ p }) => p)).toEqual(['{"p": 1.10}', '[100, 0.50]']);
  });

  it.each([
    ['no jobs', { jobs: [] }],
    ['1,001 jobs', { jobs: jobs(1001) }],
    ['a list', jobs(1)],
  ])('answers 422 for %s', async (_name, body) => {
    expect((await post(body)).status).toBe(422);
  });

  it('answers 413 for a body larger than 2 MiB', async () => {
    const { status } = await post({ jobs: [{ job_type: 'any', payload: 'x'.repeat(2_097_152) }] });

    expect(status).toBe(413);
  });
});
