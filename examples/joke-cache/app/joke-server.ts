import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const JOKES = [
  ['Why do programmers confuse Halloween with Christmas?', 'Because OCT 31 equals DEC 25.'],
  ['How many jobs does it take to change a bulb?', 'One, but it is delivered at least once.'],
] as const;

/** What the server answers: a joke, nothing at all, a status, or a body without a joke. */
export type Mood = 'joke' | 'silent' | 'empty' | number;

export interface JokeServer {
  readonly url: string;
  mood: Mood;
  close(): void;
}

/** Starts a server that answers each request with the next joke. */
export async function startJokeServer(port: number): Promise<JokeServer> {
  let count = 0;
  const server = createServer((_request, response) => {
    const { mood } = self;
    if (mood === 'silent') return;
    const id = count++ % JOKES.length;
    const [setup, punchline] = JOKES[id] ?? JOKES[0];
    response.writeHead(typeof mood === 'number' ? mood : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(mood === 'joke' ? { id, joke: { setup, punchline } } : { id }));
  });
  const self: JokeServer = { url: await listen(server, port), mood: 'joke', close: () => end(server) };
  return self;
}

/** Listens on a port of this machine, 0 for any free one, and returns the address. */
export async function listen(server: Server, port: number): Promise<string> {
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function end(server: Server): void {
  server.close();
  server.closeAllConnections();
}
