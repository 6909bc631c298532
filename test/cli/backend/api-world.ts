import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll } from 'vitest';
import { createApp } from '../../../api/app.ts';
import { apiKeyAuthentication } from '../../../api/auth/api-key.ts';
import { createApiKey } from '../../../core/access/api-keys.ts';
import { ROLES, type Scope } from '../../../core/access/scopes.ts';
import { workOffOperations } from '../../../core/dispatch/work-off-operations.ts';
import { openApi } from '../../api/world.ts';
import { stillTime } from '../../support/still-time.ts';
import { type CliResult, runCli } from '../run-cli.ts';

/** Starts an HTTP server on this machine and returns its address. */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Opens a database with an API, and runs the command line against either of them. */
export async function openBothWays() {
  const world = await openApi();
  // A request to wake the dispatcher is served at once, and continues redrives.
  const wake = async () => void (await workOffOperations({ ...world, time: stillTime() }));
  const dispatcher = { ...world.deps.dispatcher, wake };
  const { fetch } = createApp({ ...world.deps, dispatcher, authentication: [apiKeyAuthentication(world.db)] });
  const url = await listen((request, response) => void answer(fetch, request, response));
  const keyOf = async (scopes: readonly Scope[]) => (await createApiKey(world.db, { name: 'tester', scopes })).secret;
  const adminKey = await keyOf(ROLES.admin);
  const byApi = (args: readonly string[], key = adminKey, input = ''): Promise<CliResult> =>
    runCli([...args, '--api-url', url], { env: { MILLRACE_API_KEY: key }, input });
  const byDatabase = (args: readonly string[], input = ''): Promise<CliResult> =>
    runCli(args, { env: { DATABASE_URL: world.test.url }, input });
  return { ...world, url, adminKey, keyOf, byApi, byDatabase };
}

type Fetch = (request: Request) => Response | Promise<Response>;

async function answer(fetch: Fetch, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/', headers } = request;
  const body = await buffer(request);
  const asked = new Request(`http://${headers.host}${url}`, {
    method,
    headers: headers as Record<string, string>,
    body: body.length === 0 ? null : body,
  });
  const answered = await fetch(asked);
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  response.end(Buffer.from(await answered.arrayBuffer()));
}
