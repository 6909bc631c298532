import type { GlobalOptions } from '../global-options.ts';
import { whisper } from '../screen/terminal.ts';
import { findTarget, withDatabaseAt } from '../target/target.ts';
import type { Engine } from './backend.ts';
import { engineByDatabase } from './by-database.ts';

/** The engine that a command is about, for the length of `work`; its failures become sentences. */
export async function withEngine<T>(options: GlobalOptions, work: (engine: Engine) => Promise<T>): Promise<T> {
  const { by, address } = await findTarget(options);
  if (by === 'database') return withDatabaseAt(address, (db) => work(engineByDatabase(db)));
  whisper(`API: ${address.label}`);
  // Loaded here: whoever asks the database needs none of the schemas.
  const { engineByApi } = await import('./by-api/engine.ts');
  return work(engineByApi(address));
}
