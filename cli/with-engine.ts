import { engineByDatabase } from './by-database.ts';
import type { Engine } from './engine.ts';
import { findTarget, type GlobalOptions, withDatabaseAt } from './target.ts';
import { whisper } from './terminal.ts';

/** The engine that a command is about, for the length of `work`; its failures become sentences. */
export async function withEngine<T>(options: GlobalOptions, work: (engine: Engine) => Promise<T>): Promise<T> {
  const { by, address } = await findTarget(options);
  if (by === 'database') return withDatabaseAt(address, (db) => work(engineByDatabase(db)));
  whisper(`API: ${address.label}`);
  // Loaded here: whoever asks the database needs none of the schemas.
  const { engineByApi } = await import('./by-api/engine.ts');
  return work(engineByApi(address));
}
