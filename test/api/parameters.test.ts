import { expect, it } from 'vitest';
import * as z from 'zod';
import { ROUTES } from '../../api/routes.ts';
import { openApi } from './world.ts';

const { ask } = await openApi();

/** The parameters that accept a list. */
const LISTS = new Set(['/admin/jobs status', 'job_type', 'id', 'payload', '/admin/redrives/{id} job_id']);
const parameters = ROUTES.flatMap(({ method, path, query }) =>
  Object.keys(query?.shape ?? {}).map((name) => [method.toUpperCase(), path, name] as const),
);
const numbers = parameters.filter(([, , name]) => name === 'limit' || name === 'page');
const single = parameters.filter(([, path, name]) => !LISTS.has(name) && !LISTS.has(`${path} ${name}`));

async function faultsOf(method: string, path: string, query: string) {
  const { status, body } = await ask(`${path.replace('{id}', '1')}?${query}`, {
    method,
    ...(method === 'POST' && { body: { all: true } }),
  });
  expect(status).toBe(422);
  return body.errors;
}

it.each(numbers)('a query states the bounds of a number that it refuses: %s %s ?%s', async (method, path, name) => {
  const refused = ['0', '-1', '1.5', '1e9', 'x', '', '100000'];

  const faults = await Promise.all(refused.map((value) => faultsOf(method, path, `${name}=${value}`)));

  const detail = `expected a whole number from 1 to ${name === 'limit' ? 200 : 10_000}`;
  expect(faults).toEqual(refused.map(() => [{ in: 'query', pointer: `/${name}`, detail }]));
});

it.each(single)('a query names a parameter that is sent twice: %s %s ?%s', async (method, path, name) => {
  const faults = await faultsOf(method, path, `${name}=1&${name}=2`);

  const detail = 'is a duplicate parameter: send it once';
  expect(faults[0]).toEqual({ in: 'query', pointer: `/${name}`, detail });
});

it('a query names an unknown parameter that is sent twice as unknown', async () => {
  const faults = await faultsOf('GET', '/admin/jobs', 'colour=1&colour=2');

  expect(faults).toEqual([{ in: 'query', pointer: '/colour', detail: 'is unknown' }]);
});

it.each([
  ['/jobs', 'priority', [-1, 10, 1.5, '1'], 'expected a whole number from 0 to 9'],
  ['/jobs', 'delay', ['1 hour', '', true], 'expected seconds, or 30s, 5m, 2h, 1d'],
  ['/jobs', 'unique_for', ['1 hour', '10', true], 'expected seconds, or 30s, 5m, 2h, 1d'],
  ['/jobs', 'unique_for', ['10m'], 'expected a unique_key or unique_by with it, got "10m"'],
  ['/jobs', 'start_by', ['1 hour', true], 'expected a time, seconds, or 30s, 5m, 2h, 1d'],
  ['/jobs', 'max_attempts', [0, 1001], 'expected a whole number from 1 to 1000'],
  ['/admin/jobs/actions', 'limit', [0, 1001], 'expected a whole number from 1 to 1000'],
  ['/admin/redrives', 'limit', [0, 1e10], 'expected a whole number from 1 to 1000000000'],
  ['/admin/redrives', 'rate', [0, 1e-320, 0.000_009, 10_001], 'expected jobs per second, 0.00001 to 10000'],
])('a body states the bounds of a number that it refuses: %s %s', async (path, name, refused, detail) => {
  const rest =
    path === '/jobs' ? { job_type: 'any' } : { all: true, ...(path.endsWith('actions') && { action: 'retry' }) };

  const replies = await Promise.all(
    refused.map((value) => ask(path, { method: 'POST', body: { ...rest, [name]: value } })),
  );

  expect(replies.map(({ body }) => body.errors)).toEqual(
    refused.map(() => [{ in: 'body', pointer: `/${name}`, detail }]),
  );
});

/** Returns the paths of the arrays without a maximum. */
function unlimited(schema: unknown, path = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = 'type' in schema && schema.type === 'array' && !('maxItems' in schema) ? [path] : [];
  return [...own, ...Object.entries(schema).flatMap(([key, part]) => unlimited(part, `${path}/${key}`))];
}

it('every array that a request can contain has a maximum', () => {
  const found = ROUTES.flatMap(({ path, params, query, body }) =>
    [params, query, body].flatMap((part) =>
      part ? unlimited(z.toJSONSchema(part, { io: 'input', unrepresentable: 'any' }), path) : [],
    ),
  );

  expect(found).toEqual([]);
});

const many = (length: number) => Array.from({ length }, (_, n) => n);
it.each([
  ['/admin/redrives', { job_type: many(180_000) }, '/job_type'],
  ['/admin/dlq/discard?dry_run=true', { id: many(1001) }, '/id'],
  ['/admin/jobs/actions', { action: 'retry', status: many(180_000) }, '/status'],
  ['/admin/api-keys', { name: 'a', scopes: many(180_000) }, '/scopes'],
  ['/jobs/bulk', { jobs: many(1001) }, '/jobs'],
  ['/jobs', { job_type: 'any', payload: {}, unique_key: { a: [many(1001)] } }, '/unique_key/a/0'],
])('a body has one error for a long array: %s %#', async (path, body, pointer) => {
  const answer = await ask(path, { method: 'POST', body });

  const detail = expect.stringMatching(/^has \d+ elements, more than the limit of 1000$/);
  expect(answer.status).toBe(422);
  expect(answer.body.errors).toEqual([{ in: 'body', pointer, detail }]);
});

it('a payload can contain a long array', async () => {
  const jobs = [{ job_type: 'any', payload: { payload: many(1001) } }];

  const single = await ask('/jobs', { method: 'POST', body: jobs[0] });
  const bulk = await ask('/jobs/bulk', { method: 'POST', body: { jobs } });

  expect([single.status, bulk.status]).toEqual([201, 201]);
});

it.each([
  ['query /until', '/admin/dlq?since=2026-03-01T00:00:00Z&until=2026-02-28T00:00:00Z', undefined, 'since'],
  ['query /until', '/admin/dlq/groups?since=2026-03-01T00:00:00Z&until=2026-02-28T00:00:00Z', undefined, 'since'],
  [
    'query /created_to',
    '/admin/jobs?created_from=2026-03-01T00:00:00Z&created_to=2026-02-28T00:00:00Z',
    undefined,
    'created_from',
  ],
  ['body /until', '/admin/redrives', { since: '2026-03-01T00:00:00Z', until: '2026-02-28T00:00:00Z' }, 'since'],
  ['body /until', '/admin/dlq/discard', { since: '2026-03-01T00:00:00Z', until: '2026-02-28T00:00:00Z' }, 'since'],
])('refuses an interval without a time in it, with both times (%s): %s', async (place, path, body, first) => {
  const { status, body: answer } = await ask(path, body === undefined ? {} : { method: 'POST', body });

  expect(status).toBe(422);
  expect(answer.detail).toBe(
    `${place}: 2026-02-28T00:00:00Z is before ${first}, 2026-03-01T00:00:00Z: no time is between them`,
  );
});
