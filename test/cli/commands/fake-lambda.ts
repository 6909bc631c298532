import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeEach } from 'vitest';

export interface LambdaAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface FakeLambda {
  readonly endpoint: string;
  /** The environment of a command that uses it. */
  readonly env: Readonly<Record<string, string>>;
  readonly invocations: { readonly path: string | undefined; readonly event: unknown }[];
  /** The access keys that the requests carried. */
  readonly keys: (string | undefined)[];
  /** The response to every invocation, reset before each test. */
  answer: LambdaAnswer;
}

/** Starts a server that implements the Invoke operation of Lambda. */
export async function openFakeLambda(body: string): Promise<FakeLambda> {
  const server = createServer(async (request, response) => {
    fake.keys.push(/Credential=([^/]+)/.exec(request.headers.authorization ?? '')?.[1]);
    fake.invocations.push({ path: request.url, event: JSON.parse(await text(request)) });
    response.writeHead(fake.answer.status, fake.answer.headers);
    response.end(fake.answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const usual = { status: 200, body };
  const env = {
    ...{ AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's', AWS_MAX_ATTEMPTS: '1' },
    AWS_ENDPOINT_URL_LAMBDA: endpoint,
  };
  const fake: FakeLambda = { endpoint, env, invocations: [], keys: [], answer: usual };
  afterAll(() => {
    server.close();
  });
  beforeEach(() => {
    fake.invocations.length = 0;
    fake.keys.length = 0;
    fake.answer = usual;
  });
  return fake;
}
