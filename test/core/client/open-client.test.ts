import { createServer, type RequestListener } from 'node:http';
import { describe, expect, expectTypeOf, it } from 'vitest';
import * as z from 'zod';
import { ROLES } from '../../../core/access/scopes.ts';
import { ApiError, defineHandler, JobEnded, openClient, Skip } from '../../../core/index.ts';
import { listen, openBothWays } from '../../cli/backend/api-world.ts';

const world = await openBothWays();
const { pool, url, keyOf, adminKey: key } = world;
const client = openClient({ url, key });
const mail = defineHandler({
  jobType: 'mail',
  payload: z.object({ to: z.string(), n: z.number().optional() }),
  async run({ payload }) {
    if (payload.n === 0) return new Skip('nothing to send');
    return { sent: 1, at: new Date(0) };
  },
});
const fast = defineHandler({ jobType: 'any', routingKey: 'fast', payload: z.unknown(), run: async () => undefined });

const end = (id: string, status: string, { result, error }: { result?: string; error?: string } = {}) =>
  pool.query('select millrace.finish(array[$1::bigint], null, array[$2], array[$3], array[$4], null, null)', [
    ...[id, status, result ?? null, error ?? null],
  ]);

describe('a client of the HTTP API', () => {
  it('enqueues a job with all options, and follows it until its result, whose type is known', async () => {
    const job = await client.enqueue(mail, { to: 'ada' }, { priority: 2, groupKey: 'g', onDeadLetter: 'any' });
    const waited = client.wait(job);
    await end(job.id, 'succeeded', { result: '{"sent": 1, "at": "1970-01-01T00:00:00.000Z"}' });

    const result = await waited;

    expectTypeOf(result).toEqualTypeOf<{ sent: number; at: string }>();
    expect(result).toEqual({ sent: 1, at: '1970-01-01T00:00:00.000Z' });
    const { rows } = await pool.query('select priority, group_key, payload from millrace.jobs where id = $1', [job.id]);
    expect(rows).toEqual([{ priority: 2, group_key: 'g', payload: { to: 'ada' } }]);
  });

  it('enqueues many jobs of several handlers, with every digit of their payloads', async () => {
    const jobs = await client.enqueueMany([
      { handler: mail, payload: { to: 'ada' }, uniqueKey: 'once' },
      { handler: fast, payload: [1, '2'] },
      { handler: mail, payload: { to: 'bob' }, uniqueKey: 'once' },
    ]);

    expect(jobs.map(({ deduplicated }) => deduplicated)).toEqual([false, false, true]);
    expect(jobs[2]?.id).toBe(jobs[0]?.id);
    expect(await client.show(jobs[1]!.id)).toMatchObject({ jobType: 'any', routingKey: 'fast', status: 'pending' });
    expect(await client.enqueueMany([])).toEqual([]);
  });

  it.each([
    ['skipped', 'nothing to do'],
    ['cancelled', 'cancelled by ada'],
  ])('throws JobEnded with the status and the reason for a job that is %s', async (status, error) => {
    const job = await client.enqueue(mail, { to: 'ada' });
    await end(job.id, status, { error });

    const ended = await client.wait(job).catch((thrown: unknown) => thrown);

    expect(ended).toBeInstanceOf(JobEnded);
    expect(ended).toMatchObject({
      jobId: job.id,
      status,
      lastError: error,
      message: `job ${job.id} is ${status}: ${error}`,
    });
  });

  it('throws JobEnded for a dead letter, and ApiError when the time is over or the job is unknown', async () => {
    const job = await client.enqueue(mail, { to: 'ada' });
    await expect(client.wait(job, { timeout: 0.2 })).rejects.toThrow(`job ${job.id} is still pending after 0.2`);
    await pool.query('select millrace.die(array[$1::bigint], array[null], array[$2])', [job.id, 'no handler']);

    await expect(client.wait(job)).rejects.toMatchObject({ status: 'dead_letter', lastError: 'no handler' });
    await expect(client.wait({ id: '999999' })).rejects.toThrow('no job has the id 999999');
    await expect(client.show('nine')).rejects.toThrow('id: expected the id of a job, such as 42');
    expect(await client.show('999999')).toBeUndefined();
  });

  it('a wait ends when its signal aborts', async () => {
    const job = await client.enqueue(mail, { to: 'ada' });

    await expect(client.wait(job, { signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow('gone');
  });

  it('cancels a job, and states that a job has finished', async () => {
    const job = await client.enqueue(mail, { to: 'ada' });

    expect(await client.cancel(job.id)).toBe('cancelled');
    expect(await client.cancel(job.id)).toBe('finished');
    await expect(client.cancel('999999')).rejects.toMatchObject({ status: 404, problem: 'not-found' });
  });

  it('needs the scope payload:read for a result, and says so', async () => {
    const producer = openClient({ url, key: await keyOf(ROLES.producer) });
    const job = await producer.enqueue(mail, { to: 'ada' });
    await end(job.id, 'succeeded', { result: '1' });

    await expect(producer.wait(job)).rejects.toThrow(/the key lacks the scope payload:read, which shows its result$/);
    expect(await producer.show(job.id)).toMatchObject({ status: 'succeeded', result: null, lastError: null });
  });
});

describe('what a client refuses', () => {
  it('an invalid payload, before the request, and what only the API knows, with its reason', async () => {
    const unknown = { ...mail, jobType: 'nowhere' };

    await expect(client.enqueue(mail, { to: 1 } as never)).rejects.toThrow(/^mail: payload\/to: /);
    await expect(client.enqueueMany([{ handler: mail, payload: { to: 1 } as never }])).rejects.toThrow('[0]/to');
    await expect(client.enqueue(unknown, { to: 'ada' })).rejects.toMatchObject({
      ...{ name: 'ApiError', status: 404, problem: 'unknown-job-type' },
      message: expect.stringContaining('no handler for nowhere is deployed'),
    });
    await expect(openClient({ url, key: 'wrong' }).show('1')).rejects.toMatchObject({ status: 401 });
  });

  it('a key with a line break, without printing it', () => {
    expect(() => openClient({ url, key: 'mr_secret\n' })).toThrow(/^key: expected printable ASCII.*\(not shown\)/);
  });

  it('an empty key, as of a variable that is not set, and says that a key can be omitted', () => {
    expect(() => openClient({ url, key: '' })).toThrow('key: expected an API key; omit it for a server that requires');
  });

  it('an answer of another server', async () => {
    const stranger = await listen((_request, response) => response.writeHead(200).end('<html>'));

    await expect(openClient({ url: stranger }).show('1')).rejects.toThrow('is this the API of Millrace?');
  });
});

describe('a request without an answer', () => {
  /** Passes requests on, and ends the connections of the first ones without the answer. */
  async function losing(count: number) {
    const keys: (string | string[] | undefined)[] = [];
    const listener: RequestListener = async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      keys.push(request.headers['idempotency-key']);
      const passed = await fetch(url + request.url, {
        ...{ method: request.method ?? 'GET', headers: request.headers as Record<string, string> },
        body: chunks.length === 0 ? null : Buffer.concat(chunks),
      });
      const text = await passed.text();
      if (keys.length <= count) return void request.socket.destroy();
      response.writeHead(passed.status, { 'content-type': passed.headers.get('content-type') ?? '' }).end(text);
    };
    return { address: await listen(listener), keys };
  }

  it('is repeated with the same Idempotency-Key, so that the job is enqueued once', async () => {
    const { address, keys } = await losing(2);
    const before = await pool.query('select count(*)::int as n from millrace.jobs');

    const job = await openClient({ url: address, key }).enqueue(mail, { to: 'ada' });

    const after = await pool.query('select count(*)::int as n from millrace.jobs');
    expect(after.rows[0].n - before.rows[0].n).toBe(1);
    expect(new Set(keys).size).toBe(1);
    expect(keys).toHaveLength(3);
    expect(job).toMatchObject({ deduplicated: false });
  });

  it('fails with the reason when the server stays away', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));

    const failed = await openClient({ url: `http://127.0.0.1:${port}` })
      .show('1')
      .catch((error: unknown) => error);

    expect(failed).toBeInstanceOf(ApiError);
    expect(failed).toMatchObject({ status: null, message: expect.stringMatching(/does not answer: .*ECONNREFUSED/) });
  });

  it('adds the headers that a gateway requires', async () => {
    const seen: unknown[] = [];
    const gateway = await listen((request, response) => {
      seen.push(request.headers['x-token']);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"answer":"requested"}');
    });

    const answer = await openClient({ url: `${gateway}/`, headers: async () => ({ 'x-token': 't' }) }).cancel('1');

    expect([answer, seen]).toEqual(['requested', ['t']]);
  });
});
