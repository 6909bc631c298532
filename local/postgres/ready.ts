import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '../../core/failure.ts';
import { serversOf } from '../../core/postgres/address.ts';
import { openClient } from '../../core/postgres/connect.ts';

const POLL_MS = 10;
const CANNOT_CONNECT_NOW = '57P03';
const NO_SUCH_DATABASE = '3D000';
const DUPLICATE_DATABASE = '42P04';

/**
 * Connects until the server accepts connections, which crash recovery may delay; creates the database if it does not
 * exist, and returns the server's version. Undefined if the process ended first.
 */
export async function readVersionWhenReady(url: string, exited: Promise<unknown>): Promise<string | undefined> {
  let over = false;
  void exited.then(() => {
    over = true;
  });
  while (!over) {
    const answer = await query(url, 'show server_version').catch((error: unknown) => error);
    if (typeof answer === 'string') return answer;
    const code = answer instanceof Error && 'code' in answer ? answer.code : undefined;
    if (code === NO_SUCH_DATABASE) await createDatabase(url);
    // A server that this machine starts refuses or resets the connection first; any other SQLSTATE is permanent.
    else if (/^(\d|XX)/.test(String(code)) && code !== CANNOT_CONNECT_NOW) throw answer;
    else await wait(POLL_MS);
  }
  return undefined;
}

/**
 * Returns the version of a running server; creates the database if it does not exist.
 * @throws the error of the connection
 */
export async function readVersion(url: string): Promise<string> {
  const ask = () => query(url, 'show server_version');
  const version = await ask().catch(async (error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === NO_SUCH_DATABASE)) throw error;
    await createDatabase(url);
    return ask();
  });
  return String(version);
}

async function createDatabase(url: string): Promise<void> {
  const server = new URL(url);
  const name = decodeURIComponent(server.pathname.slice(1));
  server.pathname = '/postgres';
  await query(server.href, `create database "${name.replaceAll('"', '""')}"`).catch((error: unknown) => {
    const known = error instanceof Error && 'code' in error && error.code === DUPLICATE_DATABASE;
    if (known) return;
    throw new Error(`the database ${name} does not exist, and cannot be created: ${messageOf(error)}`, {
      cause: error,
    });
  });
}

async function query(url: string, sql: string): Promise<unknown> {
  const client = await openClient(serversOf(url), { name: 'millrace-start', connectTimeoutMs: 5_000 });
  try {
    const { rows } = await client.query<{ server_version?: string }>(sql);
    return rows[0]?.server_version;
  } finally {
    await client.end().catch(() => undefined);
  }
}
