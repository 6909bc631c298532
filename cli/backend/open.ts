import type { GlobalOptions } from '../global-options.ts';
import { printHint } from '../screen/terminal.ts';
import { findTarget, withDatabaseAt } from '../target/target.ts';
import type { Backend } from './backend.ts';
import { backendByDatabase } from './by-database.ts';

/** Runs `work` with the backend that the options name; its failures become sentences. */
export async function withBackend<T>(options: GlobalOptions, work: (backend: Backend) => Promise<T>): Promise<T> {
  const { by, address } = await findTarget(options);
  if (by === 'database') return withDatabaseAt(address, (db) => work(backendByDatabase(db)));
  printHint(`API: ${address.label}`);
  // Loaded here: it imports zod for the API's schemas.
  const { backendByApi } = await import('./by-api/backend.ts');
  return work(backendByApi(address));
}
