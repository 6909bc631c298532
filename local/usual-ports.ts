import { freePort } from './processes/ports.ts';

/** Where people look for our servers; a taken port moves to the next that is free. */
const USUAL_PORTS = { postgres: 54_329, sqs: 9_324, mailbox: 2_525, files: 8_378, lambda: 9_325, api: 8_377 } as const;

export type ServerName = keyof typeof USUAL_PORTS;

const TRIES = 5;

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
      if (attempt === TRIES || (await freePort(port)) === port) throw error;
    }
  }
}
