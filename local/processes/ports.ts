import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { messageOf } from '../../core/failure.ts';

const PORTS_TO_TRY = 200;

/**
 * Returns the first free loopback TCP port at or after `preferred` that is not in `avoid`. With `preferred` 0 (the
 * default), or if the whole range is in use, the system picks one.
 */
export async function freePort(preferred = 0, avoid: Iterable<number> = []): Promise<number> {
  const taken = new Set(avoid);
  const last = preferred === 0 ? -1 : Math.min(preferred + PORTS_TO_TRY, 65_535);
  for (let port = preferred; port <= last; port += 1) {
    if (!taken.has(port) && (await bind(port)) !== undefined) return port;
  }
  for (let attempt = 0; attempt < PORTS_TO_TRY; attempt += 1) {
    const port = await bind(0);
    if (port !== undefined && !taken.has(port)) return port;
  }
  throw new Error('No free TCP port on 127.0.0.1: stop some of the programs that listen on it.');
}

/** Binds a port and releases it. Returns the port, or undefined if it is in use or may not be bound. */
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

/** The documented ports of the servers; a server whose port is in use moves to the next free one. */
const USUAL_PORTS = { postgres: 54_329, sqs: 9_324, mailbox: 2_525, files: 8_378, lambda: 9_325, api: 8_377 } as const;

export type ServerName = keyof typeof USUAL_PORTS;

/** Ports by the name of the server. */
export type Ports = Readonly<Partial<Record<ServerName, number>>>;

const START_ATTEMPTS = 5;
/** From this attempt on, a server searches from a random port, where no other `npm start` is likely to search. */
const FIRST_RANDOM_ATTEMPT = 3;
/** What Node, Postgres and our servers report when another program listens on the port. */
const IN_USE = /\bin use\b|EADDRINUSE/;

/**
 * Returns whether another program had bound the port after it was found free. It may have released it by now: another
 * `npm start` that looks for a free port binds each for a moment.
 */
async function wasTaken(port: number, error: unknown): Promise<boolean> {
  return IN_USE.test(messageOf(error)) || (await freePort(port)) !== port;
}

/** Starts a server on its port in `kept`, else on its usual one or the next free one; prints a line if it is in use. */
export async function startOnUsualPort<T extends { readonly port: number }>(
  name: ServerName,
  start: (port: number) => Promise<T>,
  printLine: (line: string) => void,
  kept: Ports = {},
): Promise<T> {
  const ports = { ...USUAL_PORTS, ...kept };
  const usual = ports[name];
  // Keep the ports of the other servers free.
  const others = [...Object.values(USUAL_PORTS), ...Object.values(ports)].filter((port) => port !== usual);
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(attempt < FIRST_RANDOM_ATTEMPT ? usual : usual + randomInt(PORTS_TO_TRY), others);
    try {
      const server = await start(port);
      if (server.port !== usual) printLine(`port ${usual} is in use, ${name} listens on ${server.port}`);
      return server;
    } catch (error) {
      if (attempt === START_ATTEMPTS || !(await wasTaken(port, error))) throw error;
    }
  }
}

/**
 * Starts a server again on the port that it had: everything else that runs has its address.
 * @throws Error if another program has bound the port meanwhile
 */
export async function startOnSamePort<T extends { readonly port: number; stop(): Promise<void> }>(
  start: (port: number) => Promise<T>,
  port: number,
): Promise<T> {
  const server = await start(port);
  if (server.port === port) return server;
  await server.stop();
  throw new Error(`another program uses its port ${port}: stop that program`);
}
