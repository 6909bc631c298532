import { expect, it } from 'vitest';
import * as z from 'zod';
import { openHandlerSchemas } from '../../api/handler-schemas.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { openApi, schemasOf } from './world.ts';

const mail = defineHandler({
  jobType: 'mail',
  payload: z.object({ to: z.string() }),
  run: async () => undefined,
});

const { ask, log } = await openApi({
  schemas: openHandlerSchemas(
    {
      mail: async () => ({ default: mail }),
      any: async () => {
        throw new Error('the password is hunter2');
      },
      'any.fast': () => new Promise(() => undefined),
    },
    50,
  ),
});
const post = (path: string, body: unknown) => ask(path, { method: 'POST', body });

it('imports a handler when its first job arrives, once, and no other one', async () => {
  const imported: string[] = [];
  const load = (name: string) => async () => {
    imported.push(name);
    return { default: mail };
  };
  const schemas = openHandlerSchemas({ mail: load('mail'), 'mail.fast': load('mail.fast'), other: load('other') });

  const before = [...imported];
  await schemas.load(new Set(['mail', 'unknown', undefined]));
  await schemas.load(new Set(['mail']));

  expect(before).toEqual([]);
  expect(imported).toEqual(['mail', 'mail.fast']);
  expect([schemas.of('mail.fast'), schemas.of('unknown'), schemas.of('constructor')]).toEqual([
    mail.payload,
    undefined,
    undefined,
  ]);
});

it.each([
  ['any', undefined, 'any'],
  ['any', 'fast', 'any.fast'],
])('refuses a job of %s with the key %s, whose handler cannot be imported, and accepts others', async (...names) => {
  const [job_type, routing_key, name] = names;
  const refused = await post('/jobs', { job_type, routing_key });
  const accepted = await post('/jobs', { job_type: 'mail', payload: { to: 'ada' } });

  expect(refused).toMatchObject({ status: 503, body: { type: '/problems/schema-unavailable' } });
  expect(refused.body.detail).toBe(
    `the payload cannot be checked, because the API cannot import the handler ${name}: see its log`,
  );
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(accepted.status).toBe(201);
});

it('inserts the other jobs of a request that is not atomic', async () => {
  const jobs = [{ job_type: 'any' }, { job_type: 'mail', payload: { to: 'ada' } }, { job_type: 'any' }];

  const all = await post('/jobs/bulk', { jobs });
  const some = await post('/jobs/bulk', { jobs, atomic: false });

  expect(all.status).toBe(503);
  expect(some).toMatchObject({ status: 207, body: { inserted: 1, failed: 2 } });
  expect(some.body.items[2].errors).toMatchObject([{ pointer: '/jobs/2/payload' }]);
  expect(some.text).not.toContain('hunter2');
  expect(JSON.stringify(log.lines)).toContain('hunter2');
});

it('refuses a schedule whose handler cannot be imported', async () => {
  const { status } = await post('/admin/schedules', { schedule: 'often', job_type: 'any', every: '1h' });

  expect(status).toBe(503);
});

it('checks a schema that was never loaded as one that is unavailable', () => {
  expect(() => schemasOf(mail).of('mail')).toThrow('the API cannot import the handler mail');
});
