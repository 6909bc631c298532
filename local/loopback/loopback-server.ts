import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { findStranger } from '../../core/loopback.ts';

// Importing node:http would also load the WebSocket client, which costs 30 ms and 10 MB at startup.
const { createServer } = process.getBuiltinModule('node:http');

export interface LoopbackServer {
  readonly server: Server;
  readonly port: number;
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** Closes the server and every connection. */
  close(): Promise<void>;
}

const REFUSED = {
  host: 'this server answers only requests to 127.0.0.1 or localhost: use one of them in the address',
  site: 'this server answers programs on this machine, but not pages from other sites',
} as const;

/**
 * Serves HTTP on 127.0.0.1 to programs on this machine. A page from another site in a browser receives 403, even if its
 * host name points at 127.0.0.1. This function opens every HTTP server of a stack.
 * @throws Error with code EADDRINUSE if the port is in use
 */
export async function listenOnLoopback(
  port: number,
  answer: RequestListener,
  options: ServerOptions = {},
): Promise<LoopbackServer> {
  const server = createServer(options, (request, response) => {
    const stranger = strangerOf(request);
    if (stranger === undefined) answer(request, response);
    else refuse(request, response, REFUSED[stranger]);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { server, port: bound, url: `http://127.0.0.1:${bound}`, close };
}

function strangerOf({ headers }: IncomingMessage): 'host' | 'site' | undefined {
  return findStranger({ host: headers.host, origin: headers.origin, site: headers['sec-fetch-site'] as string });
}

function refuse(request: IncomingMessage, response: ServerResponse, message: string): void {
  response.writeHead(403, { 'content-type': 'application/json' }).end(`${JSON.stringify({ message })}\n`);
  // A client that is still sending its body reads the response only after the server has consumed the body.
  request.resume();
}
