import type { GlobalOptions } from '../global-options.ts';
import { whisper } from '../screen/terminal.ts';
import { findTarget, withDatabaseAt } from '../target/target.ts';
import type { Backend } from './backend.ts';
import { backendByDatabase } from './by-database.ts';

/** The backend that a command is about, for the length of `work`; its failures become sentences. */
export async function withBackend<T>(options: GlobalOptions, work: (backend: Backend) => Promise<T>): Promise<T> {
  const { by, address } = await findTarget(options);
  if (by === 'database') return withDatabaseAt(address, (db) => work(backendByDatabase(db)));
  whisper(`API: ${address.label}`);
  // Loaded here: it brings zod for the schemas of the API.
  const { backendByApi } = await import('./by-api/backend.ts');
  return work(backendByApi(address));
}
