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
 * A proxy that forwards data until `passes` refuses some. After that, it forwards nothing of that connection, or it
 * resets it.
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
      stuck ||= !passes(chunk.toString('latin1'), connection);
      if (!stuck) upstream.write(chunk);
      else if (otherwise === 'reset') client.resetAndDestroy();
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
