import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { OPEN_PATHS } from '../../core/access/scopes.ts';
import { messageOf } from '../../core/failure.ts';
import type { Runner } from '../lambda/runner.ts';
import { listenOnLoopback } from '../loopback/loopback-server.ts';
import type { Claims } from './gateway-claims.ts';
import type { Authorize } from './token-authorizer.ts';

export interface Gateway {
  readonly port: number;
  readonly url: string;
  close(): Promise<void>;
}

export interface GatewayOptions {
  readonly port: number;
  readonly functionName: string;
  /** Verifies the token of each request, except to the open paths. Default: the function authenticates. */
  readonly authorize?: Authorize | undefined;
}

/** Limits of API Gateway: the body, and the request line with the headers. */
const MAX_BODY_BYTES = 10_000_000;
const MAX_HEADER_BYTES = 10_240;

/** Serves a function on 127.0.0.1 as an API Gateway HTTP API does: each request becomes an event of format 2.0. */
export async function startGateway({ port, ...front }: GatewayOptions, runner: Runner): Promise<Gateway> {
  const listener: RequestListener = (request, response) => {
    answer(runner, front, request, response).catch((error: unknown) => {
      refuse(response, 500, messageOf(error));
    });
  };
  const gateway = await listenOnLoopback(port, listener, { maxHeaderSize: MAX_HEADER_BYTES });
  gateway.server.on('clientError', refuseUnparsed);
  return gateway;
}

async function answer(
  runner: Runner,
  { functionName, authorize }: Omit<GatewayOptions, 'port'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { headers: given, url = '/' } = request;
  const isOpen = authorize === undefined || OPEN_PATHS.includes(url.split('?', 1)[0] ?? '');
  const authorized = isOpen ? { claims: undefined } : await authorize(given.authorization);
  if ('challenge' in authorized) return refuseToken(request, response, authorized.challenge);
  const sent = await readBody(request);
  if (sent === undefined) return refuse(response, 413, 'Request Too Long');
  const event = toEvent(request, sent, authorized.claims);
  const { payload, functionError } = await runner.invoke(functionName, event, 'RequestResponse');
  if (functionError !== undefined) return refuse(response, 500, 'Internal Server Error');
  const { statusCode, headers, body } = payload as {
    statusCode: number;
    headers: Record<string, string>;
    body: string;
  };
  response.writeHead(statusCode, headers);
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** Reads the body; undefined if it is too large, the rest is then not read. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function toEvent(request: IncomingMessage, body: Buffer, claims: Claims | undefined): object {
  const { method = 'GET', url = '/', headers } = request;
  const [rawPath = '/', ...query] = url.split('?');
  const joined = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(',')]);
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath,
    rawQueryString: query.join('?'),
    headers: Object.fromEntries(joined),
    requestContext: {
      apiId: 'local',
      ...(claims && { authorizer: { jwt: { claims, scopes: null } } }),
      domainName: request.socket.localAddress,
      http: { method, path: rawPath, protocol: 'HTTP/1.1', sourceIp: request.socket.remoteAddress },
      requestId: randomUUID(),
      routeKey: '$default',
      stage: '$default',
      timeEpoch: Date.now(),
    },
    ...(body.length > 0 && { body: body.toString('base64') }),
    isBase64Encoded: body.length > 0,
  };
}

function refuseToken(request: IncomingMessage, response: ServerResponse, challenge: string): void {
  response.setHeader('www-authenticate', challenge);
  refuse(response, 401, 'Unauthorized');
  // A client that is still sending its body reads the response only after the server has consumed the body.
  request.resume();
}

/** Answers in the format of the gateway's own errors. */
function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ message }));
}

/** Answers a request that Node cannot parse, on its socket; by default Node answers without a body. */
function refuseUnparsed({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy();
  const status = PARSE_ERRORS[code ?? ''] ?? '400 Bad Request';
  const body = JSON.stringify({ message: status.slice('000 '.length) });
  const fields = ['content-type: application/json', `content-length: ${body.length}`, 'connection: close'];
  socket.end(`HTTP/1.1 ${[status, ...fields].join('\r\n')}\r\n\r\n${body}`);
}

const PARSE_ERRORS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
