import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Serves files from memory, and stores those that are put. */
export async function openFiles() {
  const contents = new Map<string, Buffer>();
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    if (request.method === 'PUT') contents.set(path, await buffer(request));
    const found = contents.get(path);
    response.writeHead(found === undefined ? 404 : 200).end(request.method === 'GET' ? found : undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { contents, url: `http://127.0.0.1:${port}`, close: () => server.close() };
}
