import type { PostgresServer } from '../postgres/postgres.ts';
import { readVersionWhenReady } from '../postgres/ready.ts';

/** The Postgres server of a stack. */
export interface StackPostgres {
  current(): Pick<PostgresServer, 'url' | 'version'>;
  stop(): Promise<void>;
}

/** Uses a server that the stack neither starts nor stops. Creates its database if it does not exist. */
export async function givenPostgres(url: string): Promise<StackPostgres> {
  const never = new Promise<never>(() => undefined);
  const version = (await readVersionWhenReady(url, never)) ?? 'unknown';
  return { current: () => ({ url, version }), stop: async () => undefined };
}
