import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** An SQS server that returns the given responses and counts requests. */
export async function startFake(
  answer: (body: string, request: IncomingMessage) => { status: number; body: unknown } | 'hang up',
) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      seen.push(body);
      const reply = answer(body, request);
      if (reply === 'hang up') return request.socket.destroy();
      response.writeHead(reply.status, { 'content-type': 'application/x-amz-json-1.0' });
      response.end(JSON.stringify(reply.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}
/** The response of SQS when it accepts every entry of a batch. */
export function acceptAll(body: string) {
  const { Entries } = JSON.parse(body) as { Entries: { Id: string; MessageBody: string }[] };
  const Successful = Entries.map(({ Id, MessageBody }) => {
    // The client compares the digest with its own.
    return { Id, MessageId: `m-${Id}`, MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex') };
  });
  return { Successful, Failed: [] as unknown[] };
}
