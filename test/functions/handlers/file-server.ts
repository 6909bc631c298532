import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished, vi } from 'vitest';

export interface FileServer {
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  /** Bytes by path, which GET returns and PUT writes. */
  readonly files: Map<string, Uint8Array>;
  /** Every request, such as `GET /a.jpg`, with its headers. */
  readonly requests: { line: string; headers: IncomingMessage['headers'] }[];
  /** Listeners by path, which replace `files`. */
  readonly answers: Map<string, RequestListener>;
}

/** Starts a server on loopback with GET and PUT over a map, which make_thumbnail may connect to until the test ends. */
export async function startFileServer(): Promise<FileServer> {
  const files = new Map<string, Uint8Array>();
  const requests: FileServer['requests'] = [];
  const answers: FileServer['answers'] = new Map();
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').replace(/\?.*/, '');
    requests.push({ line: `${request.method} ${request.url}`, headers: request.headers });
    const answer = answers.get(path);
    if (answer) return answer(request, response);
    if (request.method === 'PUT') return void keep(request, response, (bytes) => files.set(path, bytes));
    const file = files.get(path);
    response.writeHead(file ? 200 : 404).end(file);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  vi.stubEnv('THUMBNAIL_PRIVATE_HOSTS', '127.0.0.1');
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, files, requests, answers };
}

async function keep(request: IncomingMessage, response: ServerResponse, put: (bytes: Uint8Array) => void) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  put(Buffer.concat(chunks));
  response.writeHead(200).end();
}
