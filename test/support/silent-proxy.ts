import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A proxy that forwards data until `passes` refuses some, after which it forwards nothing of that connection. */
export async function startProxy(url: string, passes: (chunk: string) => boolean): Promise<{ url: string }> {
  const target = new URL(url);
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let stuck = false;
    sockets.push(client, upstream);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('data', (chunk) => {
      stuck ||= !passes(chunk.toString('latin1'));
      if (!stuck) upstream.write(chunk);
    });
    upstream.pipe(client);
    client.on('close', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const proxied = new URL(url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String((server.address() as { port: number }).port);
  return { url: proxied.href };
}
