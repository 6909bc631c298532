import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Proxy {
  readonly url: string;
  /** Resets every open connection. */
  cut(): void;
  /** Number of connections since the start. */
  connections(): number;
}

/**
 * Starts a proxy that forwards a client's messages until `passes` refuses one. After that, the proxy forwards nothing
 * on that connection, or resets it.
 */
export async function startProxy(
  url: string,
  passes: (chunk: string, connection: number) => boolean,
  otherwise: 'silence' | 'reset' = 'silence',
): Promise<Proxy> {
  const target = new URL(url);
  const sockets: Socket[] = [];
  let connections = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const connection = ++connections;
    let stuck = false;
    sockets.push(client, upstream);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('data', (chunk) => {
      for (const message of messagesOf(chunk)) {
        stuck ||= !passes(message.toString('latin1'), connection);
        if (!stuck) upstream.write(message);
      }
      if (stuck && otherwise === 'reset') client.resetAndDestroy();
    });
    upstream.pipe(client);
    client.on('close', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  const proxied = new URL(url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String((server.address() as { port: number }).port);
  return { url: proxied.href, cut, connections: () => connections };
}

/**
 * Splits the bytes that a client sends at once into protocol messages, each with a type and a length that includes
 * itself.
 */
function messagesOf(chunk: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  let from = 0;
  while (from < chunk.length) {
    // The first message of a connection has no type; its length begins with 0.
    const head = chunk[from] === 0 ? 0 : 1;
    const length = from + head + 4 <= chunk.length ? chunk.readInt32BE(from + head) : chunk.length;
    const to = Math.min(from + head + Math.max(length, 4), chunk.length);
    messages.push(chunk.subarray(from, to));
    from = to;
  }
  return messages;
}
