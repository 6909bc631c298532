import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Starts a server that answers GetSecretValue with the secrets by id; `id AWSPENDING` is another version of `id`. */
export async function startSecretsManager(secrets: ReadonlyMap<string, string>) {
  const server = createServer(async (request, response) => {
    const { SecretId, VersionStage = 'AWSCURRENT' } = JSON.parse(await text(request));
    const secret = secrets.get(VersionStage === 'AWSCURRENT' ? SecretId : `${SecretId} ${VersionStage}`);
    const answer = secret === undefined ? { __type: 'ResourceNotFoundException' } : { SecretString: secret };
    response.writeHead(secret === undefined ? 400 : 200, { 'Content-Type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
