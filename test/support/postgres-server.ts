import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { ensureTemplate, openServer } from '../../core/testing/template.ts';
import { startPostgres } from '../../local/postgres/postgres.ts';
import { openChildren } from '../../local/processes/children.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgres: { readonly url: string; readonly template: string; readonly version: string };
  }
}

interface Server {
  readonly url: string;
  readonly version: string;
  stop(): Promise<void>;
}

/** Starts one server for the whole run, with the migrated template from which each test file clones its database. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer();
  const databases = openServer(server.url);
  const template = await ensureTemplate(databases, server.url)
    .catch(async (error: unknown) => {
      await server.stop();
      throw error;
    })
    .finally(() => databases.close());
  project.provide('postgres', { url: server.url, template, version: server.version });
  return () => server.stop();
}

async function startServer(): Promise<Server> {
  const { MILLRACE_TEST_DATABASE_URL: url, MILLRACE_TEST_POSTGRES: major } = process.env;
  if (url !== undefined && major !== undefined) {
    throw new Error('Set MILLRACE_TEST_DATABASE_URL or MILLRACE_TEST_POSTGRES, not both.');
  }
  if (url === undefined) return startOwn(major);
  const version = await ask(url, 'show server_version');
  console.log(`Postgres ${version}: the server of MILLRACE_TEST_DATABASE_URL`);
  return { url, version, stop: async () => undefined };
}

/** Starts a server that does not wait for the disk: no data has to survive a power cut. */
async function startOwn(major: string | undefined): Promise<Server> {
  const parent = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  await chmod(parent, 0o755);
  const children = openChildren();
  const clean = async (): Promise<void> => {
    await children.close();
    await rm(parent, { recursive: true, force: true });
  };
  const server = await startPostgres({
    children,
    folder: join(parent, 'data'),
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
    ...chosenBinaries(),
  }).catch(async (error: unknown) => {
    await clean();
    throw error;
  });
  console.log(`Postgres ${server.version}: ${major === undefined ? 'the embedded one' : "this machine's own"}`);
  return { url: server.url, version: server.version, stop: clean };
}

/** Returns the binaries of this run, for tests that start their own server. */
export function chosenBinaries(): { binaries?: string } {
  const major = process.env.MILLRACE_TEST_POSTGRES;
  return major === undefined ? {} : { binaries: `/usr/lib/postgresql/${major}/bin` };
}

/** Runs one statement on a new connection and returns the first column of the first row, as text. */
export async function ask(url: string, sql: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return String(Object.values(rows[0] ?? {})[0] ?? '');
  } finally {
    await client.end();
  }
}
