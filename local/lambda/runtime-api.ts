import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface NextInvocation {
  requestId: string;
  /** JSON text of the event. */
  payload: string;
  /** Epoch milliseconds at which the environment is killed. */
  deadlineMs: number;
  functionArn: string;
  traceId: string;
}

/** What a runtime says, in the order in which it says it. Bodies are as sent. */
export interface RuntimeListener {
  onNext(): void;
  onResponse(requestId: string, body: string): void;
  onError(requestId: string, body: string): void;
  onInitError(body: string): void;
}

export interface RuntimeApi {
  /** `host:port`, the value of AWS_LAMBDA_RUNTIME_API. */
  readonly address: string;
  /** Answers the runtime's waiting request for the next event. */
  deliver(invocation: NextInvocation): void;
  close(): void;
}

const PREFIX = '/2018-06-01/runtime/';

/** The Lambda Runtime API (2018-06-01) of one execution environment, on a port of its own. */
export async function openRuntimeApi(listener: RuntimeListener): Promise<RuntimeApi> {
  let waiting: ServerResponse | undefined;
  const server = createServer((request, response) => {
    const path = request.url?.startsWith(PREFIX) ? request.url.slice(PREFIX.length) : '';
    if (request.method === 'GET' && path === 'invocation/next') {
      waiting = response;
      listener.onNext();
      return;
    }
    receive(request, response, (body) => route(path, body, listener)).catch(() => response.destroy());
  });
  // A frozen runtime must find its connection as it left it, however long that was.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    deliver(invocation) {
      waiting?.writeHead(200, headersOf(invocation)).end(invocation.payload);
      waiting = undefined;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function headersOf({ requestId, deadlineMs, functionArn, traceId }: NextInvocation): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Lambda-Runtime-Aws-Request-Id': requestId,
    'Lambda-Runtime-Deadline-Ms': String(deadlineMs),
    'Lambda-Runtime-Invoked-Function-Arn': functionArn,
    'Lambda-Runtime-Trace-Id': traceId,
  };
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  handle: (body: string) => boolean,
): Promise<void> {
  request.setEncoding('utf8');
  let body = '';
  for await (const chunk of request) body += chunk;
  const known = request.method === 'POST' && handle(body);
  response.writeHead(known ? 202 : 404, { 'Content-Type': 'application/json' });
  response.end(known ? '{"status":"OK"}' : '{"errorType":"UnknownOperation","errorMessage":"no such path"}');
}

function route(path: string, body: string, listener: RuntimeListener): boolean {
  if (path === 'init/error') {
    listener.onInitError(body);
    return true;
  }
  const [, requestId, what] = /^invocation\/([^/]+)\/(response|error)$/.exec(path) ?? [];
  if (requestId === undefined) return false;
  if (what === 'response') listener.onResponse(requestId, body);
  else listener.onError(requestId, body);
  return true;
}
