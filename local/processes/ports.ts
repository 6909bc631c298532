import { createServer } from 'node:net';

const TRIES = 200;

/**
 * The first free loopback TCP port at or after `preferred` that is not in `avoid`.
 * With `preferred` 0 (the default), or when the whole range is taken, the system picks one.
 */
export async function freePort(preferred = 0, avoid: Iterable<number> = []): Promise<number> {
  const taken = new Set(avoid);
  const last = preferred === 0 ? -1 : Math.min(preferred + TRIES, 65_535);
  for (let port = preferred; port <= last; port += 1) {
    if (!taken.has(port) && (await bind(port)) !== undefined) return port;
  }
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = await bind(0);
    if (port !== undefined && !taken.has(port)) return port;
  }
  throw new Error('No free TCP port on 127.0.0.1: stop some of the programs that listen there.');
}

/** Binds and lets go again. Answers the port, or undefined when it is taken or not ours to bind. */
function bind(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1' }, () => {
      const address = server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : undefined;
      server.close(() => resolve(bound));
    });
  });
}
