import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { openClient } from '../../../cli/backend/by-api/client.ts';
import { openSigner } from '../../../core/aws/sign-request.ts';

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const sent: Sent[] = [];
const server = createServer(async (request, response) => {
  const { method = '', url = '', headers } = request;
  sent.push({ method, url, headers, body: await text(request) });
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end('{}');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const address = { url, label: url };

beforeEach(() => {
  sent.length = 0;
  vi.stubEnv('MILLRACE_API_KEY', undefined);
  vi.stubEnv('MILLRACE_API_SIGN', 'aws');
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'example');
  vi.stubEnv('AWS_SESSION_TOKEN', 'session');
});
afterEach(() => void vi.unstubAllEnvs());
afterAll(() => void server.close());

/** Makes the signature that API Gateway expects for the request as it arrived. */
async function expectedSignature({ method, url: path, headers, body }: Sent): Promise<string | undefined> {
  const names = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? [];
  const named = names.filter((name) => name !== 'host').map((name) => [name, String(headers[name])]);
  const date = String(headers['x-amz-date']).replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5');
  vi.setSystemTime(date);
  try {
    const made = await openSigner()({
      ...{ method, url: `${url}${path}`, headers: Object.fromEntries(named) },
      ...(body !== '' && { body }),
    });
    return made.authorization;
  } finally {
    vi.useRealTimers();
  }
}

it('signs what it sends with the credentials of the AWS environment', async () => {
  const client = openClient(address);

  await client.request('/admin/jobs', z.object({}), { query: { error: 'a b+c/ü*~', limit: 5 } });
  await client.send('/admin/schedules/caf%C3%A9%20x/run', { method: 'POST', body: '{"ids":["1"]}' });

  const [list, run] = sent;
  expect(list?.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/execute-api\/aws4_request, SignedHeaders=\S*host;/,
  );
  expect(list?.headers['x-amz-security-token']).toBe('session');
  expect(run?.headers.authorization).toContain('content-type;host;');
  expect([await expectedSignature(list as Sent), await expectedSignature(run as Sent)]).toEqual([
    list?.headers.authorization,
    run?.headers.authorization,
  ]);
});

it('signs for the region in the address of API Gateway', async () => {
  const request = { method: 'GET', headers: {}, url: 'https://a1b2.execute-api.us-west-2.amazonaws.com/jobs' };

  expect((await openSigner()(request)).authorization).toContain('/us-west-2/execute-api/');
});

it('refuses a key beside a signature, and another value', () => {
  vi.stubEnv('MILLRACE_API_KEY', 'millrace_1_x');
  expect(() => openClient(address)).toThrow('MILLRACE_API_SIGN and MILLRACE_API_KEY are both set');
  vi.stubEnv('MILLRACE_API_SIGN', 'yes');
  expect(() => openClient(address)).toThrow(/^MILLRACE_API_SIGN: expected .*aws/);
});
