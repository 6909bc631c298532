import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The resources that Lambda and EventBridge Scheduler return, by name; tests change them. */
export interface FakeAws {
  readonly endpoint: string;
  readonly functions: Map<string, { Timeout: number; MemorySize: number }>;
  readonly mappings: Map<string, Record<string, unknown>[]>;
  readonly schedules: Map<string, Record<string, unknown>>;
  /** Names of the functions that the caller may not read. */
  readonly refused: Set<string>;
  close(): void;
}

export async function openFakeAws(): Promise<FakeAws> {
  const functions: FakeAws['functions'] = new Map();
  const mappings: FakeAws['mappings'] = new Map();
  const schedules: FakeAws['schedules'] = new Map();
  const refused: FakeAws['refused'] = new Set();
  const answer = (url: URL): unknown => {
    const [, name = ''] = /\/(?:functions|schedules)\/([^/]+)/.exec(url.pathname) ?? [];
    if (url.pathname.includes('/event-source-mappings')) {
      return { EventSourceMappings: mappings.get(url.searchParams.get('FunctionName') ?? '') ?? [] };
    }
    if (url.pathname.includes('/functions/')) return functions.get(name);
    return name.startsWith(`${url.searchParams.get('groupName')}-`) ? schedules.get(name) : undefined;
  };
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://aws');
    if (url.pathname.split('/').some((part) => refused.has(part))) {
      response.writeHead(403, { 'x-amzn-ErrorType': 'AccessDeniedException' }).end('{"Message": "no"}');
      return;
    }
    const found = answer(url);
    if (found === undefined) response.writeHead(404, { 'x-amzn-ErrorType': 'ResourceNotFoundException' });
    response.end(JSON.stringify(found ?? { Message: 'no such thing' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { endpoint, functions, mappings, schedules, refused, close: () => void server.close() };
}
