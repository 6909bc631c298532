import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { type Nudges, openDispatcherFunction } from '../../../core/aws/functions.ts';
import { recordLog } from '../../support/runtime-engine.ts';

interface Invocation {
  readonly type: string;
  readonly event: unknown;
}

const invocations: Invocation[] = [];
let answer: { status: number; headers?: Record<string, string>; body: string };

const server = createServer(async (request, response) => {
  const type = String(request.headers['x-amz-invocation-type'] ?? 'RequestResponse');
  invocations.push({ type, event: JSON.parse(await text(request)) });
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
vi.stubEnv('AWS_ENDPOINT_URL_LAMBDA', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
vi.stubEnv('AWS_REGION', 'eu-central-1');
vi.stubEnv('AWS_ACCESS_KEY_ID', 'a');
vi.stubEnv('AWS_SECRET_ACCESS_KEY', 's');
afterAll(() => {
  vi.unstubAllEnvs();
  server.close();
});
beforeEach(() => {
  invocations.length = 0;
  answer = { status: 202, body: '' };
});

function open(nudges?: Nudges) {
  const log = recordLog();
  return { log, dispatcher: openDispatcherFunction({ functionName: 'dispatcher', log, ...(nudges && { nudges }) }) };
}

it('wakes the dispatcher once for many callers, and requests a second round for the later ones', async () => {
  const { dispatcher } = open();

  await Promise.all([dispatcher.wake(), dispatcher.wake(), dispatcher.wake()]);
  await dispatcher.wake();

  expect(invocations).toEqual([{ type: 'Event', event: { nudge: true, again: true } }]);
});

it('ignores a failed wake, and tries again with the next caller', async () => {
  const { dispatcher, log } = open();
  answer = { status: 404, headers: { 'x-amzn-errortype': 'ResourceNotFoundException' }, body: '{}' };

  await dispatcher.wake();
  answer = { status: 202, body: '' };
  await dispatcher.wake();

  expect(log.events('nudge_failed')).toHaveLength(1);
  expect(invocations).toHaveLength(2);
});

it('leaves the dispatcher alone while another process has woken it, and asks again a second after that', async () => {
  const ages = [999_999, undefined];
  const { dispatcher } = open({ claim: async () => ages.shift(), release: () => Promise.reject(new Error('unused')) });

  await dispatcher.wake();
  const before = invocations.length;
  await dispatcher.wake();

  expect(before).toBe(0);
  expect(invocations).toHaveLength(1);
});

it('releases a nudge if it cannot be sent, and survives a database that does not respond', async () => {
  const calls: string[] = [];
  const down = async () => {
    calls.push('claim');
    throw new Error('no connection');
  };
  const sending = open({ claim: async () => undefined, release: async () => void calls.push('release') });
  const silent = open({ claim: down, release: async () => undefined });
  answer = { status: 404, headers: { 'x-amzn-errortype': 'ResourceNotFoundException' }, body: '{}' };

  await sending.dispatcher.wake();
  await silent.dispatcher.wake();

  expect(calls).toEqual(['release', 'claim']);
  expect([sending, silent].map(({ log }) => log.events('nudge_failed').length)).toEqual([1, 1]);
});

it('waits for a round and returns its result', async () => {
  const { dispatcher } = open();
  answer = { status: 200, body: '{"claimed":3,"sent":2}' };

  const round = await dispatcher.processNow();
  await dispatcher.processNow(7);

  expect(round).toEqual({ claimed: 3, sent: 2 });
  const type = 'RequestResponse';
  expect(invocations).toEqual([
    { type, event: { nudge: true } },
    { type, event: { nudge: true, limit: 7 } },
  ]);
});

it.each([
  ['it fails', { headers: { 'x-amz-function-error': 'Unhandled' }, body: '{"errorMessage":"boom"}' }, 'boom'],
  ['it is not a dispatcher', { body: 'null' }, 'check that it is the dispatcher'],
])('reports an error when %s', async (_name, reply, message) => {
  const { dispatcher } = open();
  answer = { status: 200, ...reply };

  await expect(dispatcher.processNow()).rejects.toThrow(message);
});
