import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startGateway } from '../../../local/gateway/gateway.ts';
import type { Runner } from '../../../local/lambda/runner.ts';
import { openRuntimeApi } from '../../../local/lambda/runtime-api.ts';
import { startFileServer } from '../../../local/services/files.ts';
import { startSqs } from '../../../local/sqs/server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { openRunner } from '../lambda/runner-fixture.ts';

/** A started server: its port, a request that it answers, and a function that counts the effects of requests. */
interface Started {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly effects: () => Promise<unknown> | unknown;
}

const SERVERS: Record<string, () => Promise<Started>> = {
  'the SQS server': async () => {
    const sqs = await startSqs();
    onTestFinished(() => sqs.close());
    const call = (action: string, body: string) =>
      fetch(sqs.endpoint, { method: 'POST', headers: { 'x-amz-target': `AmazonSQS.${action}` }, body });
    return {
      ...{ port: sqs.port, method: 'POST', path: '/', headers: { 'x-amz-target': 'AmazonSQS.CreateQueue' } },
      body: '{"QueueName":"q"}',
      effects: async () => (await call('ListQueues', '{}')).json(),
    };
  },
  'the file server': async () => {
    const files = await startFileServer({ port: 0, folder: await temporaryFolder() });
    onTestFinished(() => files.close());
    const effects = async () => (await fetch(`${files.url}/evil.html`)).status;
    return { port: files.port, method: 'PUT', path: '/evil.html', body: 'x', effects };
  },
  'the gateway of the API': async () => {
    const events: unknown[] = [];
    const invoke = async (_name: string, event: unknown) => {
      events.push(event);
      return { payload: { statusCode: 200, headers: {}, body: '' } };
    };
    const gateway = await startGateway({ port: 0, functionName: 'api' }, { invoke } as unknown as Runner);
    onTestFinished(() => gateway.close());
    return { port: gateway.port, method: 'POST', path: '/jobs', body: '{}', effects: () => events.length };
  },
  'the Lambda endpoint': async () => {
    const fixture = await openRunner();
    onTestFinished(() => fixture.close());
    await fixture.add('f', 'export const handler = () => console.log("ran");');
    return {
      ...{ port: fixture.runner.port, method: 'POST', path: '/2015-03-31/functions/f/invocations', body: '{}' },
      headers: { authorization: 'AWS4-HMAC-SHA256 Credential=test/20261129/us-east-1/lambda/aws4_request' },
      effects: () => fixture.lines().length,
    };
  },
  'the runtime API of a function': async () => {
    const bodies: string[] = [];
    const none = () => undefined;
    const listener = {
      onNext: none,
      onResponse: none,
      onError: none,
      onInitError: (body: string) => bodies.push(body),
    };
    const runtime = await openRuntimeApi(listener);
    onTestFinished(() => runtime.close());
    const port = Number(runtime.address.split(':')[1]);
    return {
      ...{ port, method: 'POST', path: '/2018-06-01/runtime/init/error', body: '{}' },
      effects: () => bodies.length,
    };
  },
};

/** Sends a request with these headers; `fetch` does not send a given `Host`. */
async function send({ port, method, path, headers, body }: Started, added: Record<string, string>) {
  const client = httpRequest({ host: '127.0.0.1', port, method, path, headers: { ...headers, ...added } }).end(body);
  const [response] = await once(client, 'response');
  return { status: response.statusCode as number, text: await text(response) };
}

describe.each(Object.entries(SERVERS))('%s', (_name, start) => {
  it.each([
    ['a page from another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a page in a browser that sends only the origin', { origin: 'https://evil.example' }],
    ['a page that hides its origin', { origin: 'null' }],
    ['a page that sends no origin', { 'sec-fetch-site': 'cross-site' }],
    ['a page from another port on this machine', { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' }],
    ['a page whose host name points at this machine', { host: 'evil.example:9324' }],
    ['a host name that begins as a loopback address', { host: '127.0.0.1.evil.example' }],
    ['a rebound page of the same origin', { host: 'evil.example', origin: 'http://evil.example' }],
  ])('refuses a request from %s, which changes nothing', async (_what, headers) => {
    const server = await start();
    const before = await server.effects();

    const { status, text: body } = await send(server, headers);

    expect(status).toBe(403);
    expect(JSON.parse(body).message).toMatch(/^this server answers /);
    expect(await server.effects()).toEqual(before);
  });

  it.each([
    ['a program', {}],
    ['a program that calls this machine localhost', { host: 'localhost:80' }],
    ['a person in a browser', { 'sec-fetch-site': 'none' }],
  ])('answers a request from %s', async (_what, headers) => {
    const server = await start();

    const { status } = await send(server, headers);

    expect(status).toBeLessThan(300);
  });
});

it('answers a page that it has served itself', async () => {
  const server = await SERVERS['the gateway of the API']!();
  const own = `127.0.0.1:${server.port}`;

  const { status } = await send(server, { host: own, origin: `http://${own}`, 'sec-fetch-site': 'same-origin' });

  expect(status).toBe(200);
});
