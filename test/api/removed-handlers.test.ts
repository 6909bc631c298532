import { beforeEach, expect, it } from 'vitest';
import { enqueueAll } from '../../core/enqueue/enqueue.ts';
import { defineHandler, type HandlerDefinition } from '../../core/handler/handler.ts';
import type { PayloadSchema } from '../../core/handler/payload.ts';
import { deploy } from '../support/runtime-engine.ts';
import { openApi, schemasOf } from './world.ts';

let onCheck: () => Promise<unknown>;

/** Accepts everything; the API checks payloads after it has read the handlers and before it inserts. */
const schema: PayloadSchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (value) => {
      await onCheck();
      return { value };
    },
  },
};
const raced = (routingKey: string): HandlerDefinition =>
  defineHandler({ jobType: 'raced', routingKey, payload: schema, run: async () => undefined });

const { ask, pool, db } = await openApi({ schemas: schemasOf(raced('a'), raced('b')) });
const remove = (...keys: string[]) =>
  pool.query(`delete from millrace.handlers where job_type = 'raced' and routing_key = any($1)`, [keys]);
const inserted = async () =>
  (await pool.query('select job_type, routing_key from millrace.jobs order by id')).rows as unknown[];

beforeEach(async () => {
  const keys = ['a', 'b'].map((routingKey) => ({ jobType: 'raced', routingKey }));
  await deploy(db, { jobType: 'any' }, ...keys);
  await pool.query('delete from millrace.jobs_live');
  onCheck = async () => undefined;
});

const post = (path: string, body: unknown) => ask(path, { method: 'POST', body });
const FOR_ALL = { job_type: 'raced', routing_key: '*' };

it.each([undefined, 'a key'])(
  'a bulk request is checked again when the last handler is removed meanwhile: %s',
  async (key) => {
    onCheck = () => remove('a', 'b');
    const jobs = [{ job_type: 'any' }, key === undefined ? FOR_ALL : { ...FOR_ALL, unique_key: key }];

    const { status, body } = await post('/jobs/bulk', { jobs });

    expect(status).toBe(422);
    expect(body.errors).toEqual([
      {
        in: 'body',
        pointer: '/jobs/1/job_type',
        detail:
          'no handler of the job type raced is deployed: deploy one, or name a routing key (deployed handlers: any)',
      },
    ]);
    expect(await inserted()).toEqual([]);
  },
);

it('with `atomic: false`, the other jobs of the request are inserted', async () => {
  onCheck = () => remove('a', 'b');

  const { status, body } = await post('/jobs/bulk', { jobs: [FOR_ALL, { job_type: 'any' }], atomic: false });

  expect(status).toBe(207);
  expect(body).toMatchObject({ inserted: 1, failed: 1, items: [{ errors: [{ pointer: '/jobs/0/job_type' }] }, {}] });
  expect(await inserted()).toEqual([{ job_type: 'any', routing_key: '' }]);
});

it('a repeated request with an idempotency key is checked again, too', async () => {
  onCheck = () => remove('a', 'b');
  const headers = { 'idempotency-key': 'one' };

  const { status } = await ask('/jobs/bulk', { method: 'POST', body: { jobs: [FOR_ALL] }, headers });

  expect(status).toBe(422);
});

it('a bulk request inserts a job for each handler that is left', async () => {
  onCheck = () => remove('a');

  const { status } = await post('/jobs/bulk', { jobs: [FOR_ALL] });

  expect(status).toBe(201);
  expect(await inserted()).toEqual([{ job_type: 'raced', routing_key: 'b' }]);
});

it('a single job is inserted although its handler is removed meanwhile, as by a plain insert', async () => {
  onCheck = () => remove('a');

  const { status } = await post('/jobs', { job_type: 'raced', routing_key: 'a' });

  expect(status).toBe(201);
  expect(await inserted()).toEqual([{ job_type: 'raced', routing_key: 'a' }]);
});

it('enqueueAll names the job type of which no handler is deployed', async () => {
  await remove('a', 'b');

  const refused = enqueueAll(pool, raced('a'), {});

  await expect(refused).rejects.toMatchObject({
    name: 'SettingError',
    code: 'MILLRACE_SETTING',
    field: 'handler',
    message: 'handler: no handler of the job type raced is deployed: deploy one, or name a routing key with enqueue',
  });
});

it('enqueueAll names startBy when it is before the run time that delay sets', async () => {
  const options = { delay: '2h', startBy: new Date(Date.now() + 3_600_000) } as const;

  await expect(enqueueAll(pool, raced('a'), {}, options)).rejects.toMatchObject({ field: 'startBy' });
});
