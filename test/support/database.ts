import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject, onTestFinished } from 'vitest';
import { ask, withDatabase } from './postgres-server.ts';

export interface TestDatabase {
  /** The superuser's. */
  readonly url: string;
  readonly pool: pg.Pool;
  /** Ends the pool and drops the database, whoever else is connected. */
  drop(): Promise<void>;
}

/** A database for one test file: a clone of the migrated template, or an empty one with `migrated: false`. */
export async function createDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  const server = inject('postgres');
  const name = `millrace_test_${randomBytes(6).toString('hex')}`;
  await ask(server.url, `create database ${name} template ${migrated ? server.template : 'template0'}`);
  const url = withDatabase(server.url, name);
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  // An idle client whose server goes away emits an error that would end the process.
  pool.on('error', () => undefined);
  const drop = async (): Promise<void> => {
    await pool.end();
    await ask(server.url, `drop database if exists ${name} with (force)`);
  };
  return { url, pool, drop };
}

/** One connection, for a test that needs to hold it; its loss ends nothing. */
export async function createClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}
