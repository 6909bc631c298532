import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { startGateway } from '../../../local/gateway/gateway.ts';
import type { Runner } from '../../../local/lambda/runner.ts';

interface Event {
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly isBase64Encoded: boolean;
  readonly requestContext: { readonly http: { readonly method: string } };
}

const ANSWER = { statusCode: 201, headers: { location: '/x', 'content-type': 'text/plain' }, body: 'gemacht: ü' };

async function open(answer: () => Promise<{ payload: unknown; functionError?: string }>) {
  const events: Event[] = [];
  const runner = {
    invoke: async (_name: string, event: Event) => {
      events.push(event);
      return answer();
    },
  } as unknown as Runner;
  const gateway = await startGateway({ port: 0, functionName: 'api' }, runner);
  onTestFinished(() => gateway.close());
  return { gateway, events };
}

it('the gateway converts a request to an event and the result of the function to a response', async () => {
  const { gateway, events } = await open(async () => ({ payload: ANSWER }));
  const body = Buffer.from('{"n":"ü"}');

  const response = await fetch(`${gateway.url}/a%2Fb?x=1&y=?`, { method: 'POST', body, headers: { 'x-thing': 'a' } });

  expect(response.status).toBe(201);
  expect(response.headers.get('location')).toBe('/x');
  expect(await response.text()).toBe('gemacht: ü');
  expect(events[0]).toMatchObject({
    version: '2.0',
    rawPath: '/a%2Fb',
    rawQueryString: 'x=1&y=?',
    headers: { 'x-thing': 'a', host: `127.0.0.1:${gateway.port}` },
    body: body.toString('base64'),
    isBase64Encoded: true,
    requestContext: { http: { method: 'POST' } },
  });
});

it('the gateway answers 500 as API Gateway does when the function fails', async () => {
  const { gateway } = await open(async () => ({ payload: { errorMessage: 'secret' }, functionError: 'Unhandled' }));

  const response = await fetch(gateway.url);

  expect(response.status).toBe(500);
  expect(await response.text()).toBe('{"message":"Internal Server Error"}');
});

it('the gateway answers with the error when the function cannot be invoked', async () => {
  const { gateway } = await open(() => Promise.reject(new Error('Function not found: api')));

  const response = await fetch(gateway.url);

  expect(await response.json()).toEqual({ message: 'Function not found: api' });
});

it('the gateway answers 413 to a body above ten megabytes', async () => {
  const { gateway, events } = await open(async () => ({ payload: ANSWER }));

  const status = await new Promise((resolve, reject) => {
    const sent = request(gateway.url, { method: 'POST' }, (response) => resolve(response.resume().statusCode));
    sent.on('error', reject);
    sent.end(Buffer.alloc(10_000_001));
  });

  expect(status).toBe(413);
  expect(events).toEqual([]);
});

it.each([
  ['headers beyond 10,240 bytes', `GET / HTTP/1.1\r\nHost: a\r\nx: ${'x'.repeat(11_000)}\r\n\r\n`, 431],
  ['a request line beyond 10,240 bytes', `GET /${'x'.repeat(11_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
  ['text that is not HTTP', 'how are you?\r\n\r\n', 400],
])('the gateway refuses %s with an error in JSON', async (_what, sent, status) => {
  const { gateway, events } = await open(async () => ({ payload: ANSWER }));

  const answered = await sendText(gateway.port, sent);

  expect(answered).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\r\ncontent-type: application/json\r\n`));
  const body = answered.slice(answered.indexOf('\r\n\r\n'));
  expect(JSON.parse(body)).toEqual({ message: answered.slice('HTTP/1.1 000 '.length, answered.indexOf('\r\n')) });
  expect(events).toEqual([]);
});

async function sendText(port: number, content: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(content);
  return text(socket);
}
