import { DeadLetter } from '../../../core/handler/chosen-outcome.ts';
import type { Database } from '../../../core/postgres/database.ts';
import type { Engine } from '../../support/database-engine.ts';
import { withQuery } from '../../support/with-query.ts';

export function boom(): never {
  throw new Error('boom');
}

export function die(): never {
  throw new DeadLetter('hopeless');
}

/** Returns the engine's database, in which `trouble` intercepts every settle statement. */
export function troubled({ db }: Engine, trouble: (send: () => Promise<unknown>) => Promise<unknown>): Database {
  const query = (text: string, values?: readonly unknown[]) => {
    const send = () => db.query(text, values);
    return /millrace\.(settle|finish)\(/.test(text) ? trouble(send) : send();
  };
  return withQuery(db, query);
}
