import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A web server that answers with the status in the path, and with `/never` not at all. */
export async function openReceiver() {
  const received: { id: string; name: string }[] = [];
  const server = createServer(async (request, response) => {
    received.push(JSON.parse(await text(request)));
    if (request.url !== '/never') response.writeHead(Number(request.url?.slice(1))).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { received, url: `http://127.0.0.1:${port}`, close };
}
