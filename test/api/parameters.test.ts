import { expect, it } from 'vitest';
import { ROUTES } from '../../api/routes.ts';
import { openApi } from './world.ts';

const { ask } = await openApi();

/** The parameters that accept a list. */
const LISTS = new Set(['/admin/jobs status', 'job_type', 'id', '/admin/redrives/{id} job_id']);
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
  ['/jobs', 'max_attempts', [0, 1001], 'expected a whole number from 1 to 1000'],
  ['/admin/jobs/actions', 'limit', [0, 1001], 'expected a whole number from 1 to 1000'],
  ['/admin/redrives', 'limit', [0, 1e10], 'expected a whole number from 1 to 1000000000'],
  ['/admin/redrives', 'rate', [0, 10_001], 'expected jobs per second, above 0 and at most 10000'],
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
