import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Ports, type ServerName, startOnUsualPort } from './ports.ts';

/** Starts a server on the port that it had at the last start of the project, else on its usual port. */
export type StartServer = <T extends { readonly port: number }>(
  name: ServerName,
  start: (port: number) => Promise<T>,
) => Promise<T>;

/**
 * Returns a function that starts the servers of a project and keeps their ports in its data folder: addresses that a
 * person has copied into other programs stay valid.
 */
export function keepPorts(data: string, printLine: (line: string) => void): StartServer {
  const file = join(data, 'ports.json');
  const kept: Partial<Record<ServerName, number>> = read(file);
  return async (name, start) => {
    const server = await startOnUsualPort(name, start, printLine, kept);
    if (kept[name] === server.port) return server;
    kept[name] = server.port;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, JSON.stringify(kept), { mode: 0o600 });
    renameSync(`${file}.new`, file);
    return server;
  };
}

function read(file: string): Ports {
  try {
    const values = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as object);
    return Object.fromEntries(values.filter(([, port]) => Number.isInteger(port) && port > 0 && port < 65_536));
  } catch {
    return {};
  }
}
