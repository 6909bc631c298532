import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject, onTestFinished } from 'vitest';
import { copyDatabase, dropDatabase, openServer, withDatabase } from '../../core/testing/template.ts';
import './postgres-server.ts';

export interface TestDatabase {
  /** The address with the login of the superuser. */
  readonly url: string;
  readonly pool: pg.Pool;
  /** Ends the pool and drops the database, even if other clients are connected. */
  drop(): Promise<void>;
}

/** Creates a database for one test file: a clone of the migrated template, or an empty one with `migrated: false`. */
export async function createDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  const server = inject('postgres');
  const name = `millrace_test_${randomBytes(6).toString('hex')}`;
  const databases = openServer(server.url);
  await copyDatabase(databases, name, migrated ? server.template : 'template0');
  const url = withDatabase(server.url, name);
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  // An idle client whose server stops emits an error that would end the process.
  pool.on('error', () => undefined);
  const drop = async (): Promise<void> => {
    await pool.end();
    await dropDatabase(databases, name);
    await databases.close();
  };
  return { url, pool, drop };
}

/** Opens one connection, for a test that keeps it open. The loss of the connection does not end the process. */
export async function createClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}
