import { MigrationError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Database, Queryable } from './database.ts';
import {
  endingText,
  type Holder,
  type Patience,
  repeatWhileLocked,
  sessionText,
  waitingForLocks,
} from './lock-waits.ts';

const BECOME_OWNER = `set local role millrace_owner`;
/**
 * Acquires the migration lock. Unlike an advisory lock, only members of the owner role can acquire it. A reader of the
 * ledger does not delay it. It lasts until the end of the transaction, so it works with a transaction pooler, and it is
 * released if the migrator is killed. A statement that waits for the lock has no snapshot, for which `create index
 * concurrently` of another migrator would wait.
 */
const LOCK_LEDGER = `lock table millrace.migrations in exclusive mode`;
/** A statement that waits for a table lock blocks all later ones, so this bounds the delay of concurrent inserts. */
const LIMIT_WAITING = `set local lock_timeout = '300ms'`;
/** Shorter than the limit of the time between two statements. */
const SIGN_EVERY_MS = 3000;

/** What another login has created under our names. A superuser, and the login itself, gain nothing by that. */
const FIND_FOREIGN = `
  select o.name, r.rolname as owner
    from (select 'the schema millrace' as name, n.nspowner as owner
            from pg_catalog.pg_namespace n where n.nspname = 'millrace'
          union all
          select 'the table millrace.migrations', c.relowner
            from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'millrace' and c.relname = 'migrations') o
    join pg_catalog.pg_roles r on r.oid = o.owner
    where not r.rolsuper and r.rolname not in ('millrace_owner', session_user)
    order by o.name`;

/**
 * Refuses a schema or ledger of another login: that login could put a trigger on the ledger, which would run with the
 * rights of the migrator, and could drop every table later.
 * @throws MigrationError that names the owner.
 */
export async function refuseForeignSchema(tx: Queryable): Promise<void> {
  const { rows } = await tx.query<{ name: string; owner: string }>(FIND_FOREIGN);
  const [found] = rows;
  if (found === undefined) return;
  throw new MigrationError(
    `${found.name} belongs to ${found.owner}, who could run statements with the rights of this login: ` +
      'drop it, or, if you trust what it contains, make millrace_owner its owner, then migrate again',
  );
}

/** Ten minutes, less than the function of a deployment may take. It has no other locks while it waits. */
const PATIENCE: Patience = { waitMs: 10_000, pauseMs: 0, tries: 60 };

/**
 * Runs `work` in a transaction as the owner, while no other migrator runs one.
 * @throws MigrationError that names the session with the migration lock, if that session keeps the lock for too long.
 */
export function withLedger<T>(
  db: Database,
  log: Log,
  work: (tx: Queryable) => Promise<T>,
  patience = PATIENCE,
): Promise<T> {
  const onWait = (holder: Holder) =>
    log.warn('migration_waiting', { reason: `${sessionText(holder)} has the migration lock` });
  return repeatWhileLocked(db, { patience, tables: () => ['millrace.migrations'], onWait, refuse }, async (tx) => {
    await tx.query(BECOME_OWNER);
    await waitingForLocks(tx, patience, () => tx.query(LOCK_LEDGER));
    await tx.query(LIMIT_WAITING);
    return work(tx);
  });
}

function refuse(holder: Holder): MigrationError {
  return new MigrationError(
    `${sessionText(holder)} keeps the migration lock: wait for it if it is another migration, otherwise ` +
      `${endingText(holder)}, then migrate again`,
  );
}

/**
 * Runs `work`, which uses another connection, and keeps this transaction and its locks alive meanwhile: the server ends
 * a transaction whose client is silent. Sends a statement that requires no snapshot, because `create index
 * concurrently` would wait for a snapshot.
 */
export async function keepingAlive<T>(tx: Queryable, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => void tx.query(LIMIT_WAITING).catch(() => undefined), SIGN_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
