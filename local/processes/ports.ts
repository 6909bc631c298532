import { createServer } from 'node:net';

const PORTS_TO_TRY = 200;

/**
 * The first free loopback TCP port at or after `preferred` that is not in `avoid`.
 * With `preferred` 0 (the default), or when the whole range is taken, the system picks one.
 */
export async function freePort(preferred = 0, avoid: Iterable<number> = []): Promise<number> {
  const taken = new Set(avoid);
  const last = preferred === 0 ? -1 : Math.min(preferred + PORTS_TO_TRY, 65_535);
  for (let port = preferred; port <= last; port += 1) {
    if (!taken.has(port) && (await bind(port)) !== undefined) return port;
  }
  for (let tries = 0; tries < PORTS_TO_TRY; tries += 1) {
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

/** Where people look for our servers; a taken port moves to the next that is free. */
const USUAL_PORTS = { postgres: 54_329, sqs: 9_324, mailbox: 2_525, files: 8_378, lambda: 9_325, api: 8_377 } as const;

export type ServerName = keyof typeof USUAL_PORTS;

const START_ATTEMPTS = 5;

/** Starts a server on its usual port or the next free one, and says so when it is not the usual one. */
export async function startOnUsualPort<T extends { readonly port: number }>(
  name: ServerName,
  start: (port: number) => Promise<T>,
  say: (line: string) => void,
): Promise<T> {
  const usual = USUAL_PORTS[name];
  // The usual ports of the others stay theirs.
  const others = Object.values(USUAL_PORTS).filter((port) => port !== usual);
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(usual, others);
    try {
      const server = await start(port);
      if (server.port !== usual) say(`port ${usual} is taken, ${name} listens on ${server.port}`);
      return server;
    } catch (error) {
      // Between our look and its start another program may have been quicker.
      if (attempt === START_ATTEMPTS || (await freePort(port)) === port) throw error;
    }
  }
}
