import { describe, expect, it } from 'vitest';
import { insertInState } from './job-states.ts';
import { openApi } from './world.ts';

const { ask, pool } = await openApi();
const tagOf = (reply: { headers: Headers }) => reply.headers.get('etag') as string;

describe('If-None-Match', () => {
  it('gets 304 without a body until the job changes, and then the document', async () => {
    const id = await insertInState(pool, 'pending');
    const first = await ask(`/jobs/${id}`);
    const headers = { 'if-none-match': tagOf(first) };

    const second = await ask(`/jobs/${id}`, { headers });
    await ask(`/jobs/${id}/cancel`, { method: 'POST' });
    const third = await ask(`/jobs/${id}`, { headers });

    expect(tagOf(first)).toMatch(/^"[\w-]{22}"$/);
    expect({ status: second.status, text: second.text, tag: tagOf(second) }).toEqual({
      ...{ status: 304, text: '', tag: tagOf(first) },
    });
    expect(third).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    expect(tagOf(third)).not.toBe(tagOf(first));
  });

  it.each([
    '/admin/jobs',
    '/admin/jobs/stats',
    '/admin/handlers',
    '/admin/schedules',
    '/admin/dlq',
    '/admin/audit',
    '/admin/api-keys',
    '/healthz',
  ])('is supported by %s', async (path) => {
    const first = await ask(path);

    const second = await ask(path, { headers: { 'if-none-match': tagOf(first) } });

    expect([first.status, second.status]).toEqual([200, 304]);
  });

  it.each([
    ['matches a list of tags that has the ETag', (tag: string) => `"other", ${tag}`, 304],
    ['matches a tag weakened by a cache', (tag: string) => `W/${tag}`, 304],
    ['matches every document with *', () => '*', 304],
    ['does not match another tag', () => '"other"', 200],
    ['ignores a malformed value', () => 'nonsense', 200],
  ])('%s', async (_name, header, expected) => {
    const id = await insertInState(pool, 'pending');
    const tag = tagOf(await ask(`/jobs/${id}`));

    const { status } = await ask(`/jobs/${id}`, { headers: { 'if-none-match': header(tag) } });

    expect(status).toBe(expected);
  });

  it('does not get 304 for a document that the caller may not read', async () => {
    const id = await insertInState(pool, 'pending');
    const headers = { 'if-none-match': tagOf(await ask(`/jobs/${id}`)) };

    const refused = await ask(`/jobs/${id}`, { headers, scopes: ['metrics:read'] });
    const producer = await ask(`/jobs/${id}`, { headers, scopes: ['jobs:enqueue'] });

    expect([refused.status, producer.status]).toEqual([403, 200]);
  });
});

describe('If-Match', () => {
  const CHANGES = [
    ['retry', 'POST', (id: string) => `/admin/jobs/${id}/retry`, 200],
    ['cancel', 'POST', (id: string) => `/jobs/${id}/cancel`, 200],
    ['delete', 'DELETE', (id: string) => `/admin/jobs/${id}`, 204],
  ] as const;

  it.each(CHANGES)('accepts a %s with the current ETag', async (_name, method, path, expected) => {
    const id = await insertInState(pool, 'dead_letter');
    const headers = { 'if-match': tagOf(await ask(`/admin/jobs/${id}`)) };

    const { status } = await ask(path(id), { method, headers });

    expect(status).toBe(expected);
  });

  it.each(CHANGES)('refuses a %s with an outdated ETag and changes nothing', async (_name, method, path) => {
    const id = await insertInState(pool, 'dead_letter');
    const headers = { 'if-match': tagOf(await ask(`/admin/jobs/${id}`)) };
    await pool.query(`update millrace.jobs_live set last_error = 'Error: another' where id = $1`, [id]);

    const { status, body } = await ask(path(id), { method, headers });

    const { rows } = await pool.query('select status from millrace.jobs where id = $1', [id]);
    expect({ status, type: body.type, rows }).toEqual({
      ...{ status: 412, type: '/problems/precondition-failed', rows: [{ status: 'dead_letter' }] },
    });
  });

  it('matches any job with *, and an unknown job answers 404', async () => {
    const id = await insertInState(pool, 'pending');
    const headers = { 'if-match': '*' };

    const one = await ask(`/jobs/${id}/cancel`, { method: 'POST', headers });
    const none = await ask('/jobs/4711000/cancel', { method: 'POST', headers });

    expect([one.status, none.status]).toEqual([200, 404]);
  });
});

describe('Retry-After', () => {
  const withDispatcher = (error: Error) =>
    openApi({ dispatcher: { processNow: () => Promise.reject(error), wake: async () => undefined } });

  it.each([
    [429, 'rate-limited', Object.assign(new Error('Rate exceeded'), { name: 'TooManyRequestsException' })],
    [503, 'dispatcher-unavailable', new Error('connect ECONNREFUSED')],
  ])('is sent with a %i', async (expected, kind, error) => {
    const world = await withDispatcher(error);

    const { status, headers, body } = await world.ask('/admin/jobs/process', { method: 'POST' });

    expect({ status, type: body.type }).toEqual({ status: expected, type: `/problems/${kind}` });
    expect(headers.get('retry-after')).toBe('5');
  });
});
