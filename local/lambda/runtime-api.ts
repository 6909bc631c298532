import type { IncomingMessage, ServerResponse } from 'node:http';
import { listenOnLoopback } from '../loopback/loopback-server.ts';

/** The next event for a runtime. */
export interface NextInvocation {
  requestId: string;
  /** JSON text of the event. */
  payload: string;
  /** Time at which the environment is killed, in epoch milliseconds. */
  deadlineMs: number;
  functionArn: string;
  traceId: string;
}

/** Receives the requests of a runtime, in their order. Bodies are unparsed. */
export interface RuntimeListener {
  onNext(): void;
  onResponse(requestId: string, body: string): void;
  onError(requestId: string, body: string): void;
  onInitError(body: string): void;
}

export interface RuntimeApi {
  /** `host:port`, the value of AWS_LAMBDA_RUNTIME_API. */
  readonly address: string;
  /** Responds to the runtime's pending request for the next event. */
  deliver(invocation: NextInvocation): void;
  close(): void;
}

const PREFIX = '/2018-06-01/runtime/';

/** Serves the Lambda Runtime API (2018-06-01) for one execution environment, on its own port. */
export async function openRuntimeApi(listener: RuntimeListener): Promise<RuntimeApi> {
  let waiting: ServerResponse | undefined;
  const { server, port, close } = await listenOnLoopback(0, (request, response) => {
    const path = request.url?.startsWith(PREFIX) ? request.url.slice(PREFIX.length) : '';
    if (request.method === 'GET' && path === 'invocation/next') {
      waiting = response;
      listener.onNext();
      return;
    }
    receive(request, response, (body) => route(path, body, listener)).catch(() => response.destroy());
  });
  // The connection of a stopped runtime must stay open, however long it is stopped.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.headersTimeout = 0;

  return {
    address: `127.0.0.1:${port}`,
    deliver(invocation) {
      waiting?.writeHead(200, headersOf(invocation)).end(invocation.payload);
      waiting = undefined;
    },
    close: () => void close(),
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
  const [, requestId, kind] = /^invocation\/([^/]+)\/(response|error)$/.exec(path) ?? [];
  if (requestId === undefined) return false;
  if (kind === 'response') listener.onResponse(requestId, body);
  else listener.onError(requestId, body);
  return true;
}
