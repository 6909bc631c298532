import { MigrationError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Database, Queryable } from './database.ts';
import { errorCode, Undo } from './statement-errors.ts';

const BECOME_OWNER = `set local role millrace_owner`;
/**
 * Acquires the migration lock. Unlike an advisory lock, only members of the owner role can acquire it. A reader of the
 * ledger does not delay it. It lasts until the end of the transaction, so it works with a transaction pooler, and it is
 * released if the migrator is killed. A statement that waits for the lock has no snapshot, for which `create index
 * concurrently` of another migrator would wait.
 */
const LOCK_LEDGER = `lock table millrace.migrations in exclusive mode`;
const WAIT_FOR_LOCK = `select pg_catalog.set_config('lock_timeout', $1, true)`;
/**
 * A statement that waits for a table lock blocks all later statements on that table, so this limits the delay of
 * concurrent inserts.
 */
const LIMIT_WAITING = `set local lock_timeout = '300ms'`;
const FIND_HOLDER = `
  select a.pid, a.usename as "user", a.application_name as application
    from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where l.relation = 'millrace.migrations'::pg_catalog.regclass and l.granted and l.mode <> 'AccessShareLock'
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
    order by a.xact_start limit 1`;
const LOCK_TIMEOUT = '55P03';
/** Shorter than the limit on the time between two statements. */
const SIGN_EVERY_MS = 3000;

export interface Patience {
  /** Duration of one wait, in milliseconds; each wait is logged. */
  readonly waitMs: number;
  readonly waits: number;
}

/** Ten minutes in total, less than the timeout of a deployment's function. */
const PATIENCE: Patience = { waitMs: 10_000, waits: 60 };

/** The error if another session has the lock. */
class Busy extends Undo {
  override readonly name = 'Busy';
}

/**
 * Runs `work` in a transaction as the owner, while no other migrator runs one.
 * @throws MigrationError that names the session with the migration lock, if that session keeps the lock for too long.
 */
export async function withLedger<T>(
  db: Database,
  log: Log,
  work: (tx: Queryable) => Promise<T>,
  { waitMs, waits } = PATIENCE,
): Promise<T> {
  for (let wait = 1; ; wait++) {
    const done = await db.transaction((tx) => locked(tx, waitMs, work)).catch(unlessBusy);
    if (done !== undefined) return done.value;
    const [holder = UNKNOWN] = (await db.query<Holder>(FIND_HOLDER)).rows;
    log.warn('migration_waiting', { reason: `session ${describe(holder)} has the migration lock` });
    if (wait >= waits) throw new MigrationError(refusal(holder));
  }
}

interface Holder {
  readonly pid: number;
  readonly user: string | null;
  readonly application: string;
}

/** Stands for a session that ended between the wait and the query. */
const UNKNOWN: Holder = { pid: 0, user: null, application: '' };

async function locked<T>(tx: Queryable, waitMs: number, work: (tx: Queryable) => Promise<T>): Promise<{ value: T }> {
  await tx.query(BECOME_OWNER);
  await tx.query(WAIT_FOR_LOCK, [String(waitMs)]);
  await tx.query(LOCK_LEDGER).catch((error: unknown) => {
    throw errorCode(error) === LOCK_TIMEOUT ? new Busy('', { cause: error }) : error;
  });
  await tx.query(LIMIT_WAITING);
  return { value: await work(tx) };
}

function unlessBusy(error: unknown): undefined {
  if (!(error instanceof Busy)) throw error;
}

function describe({ pid, user, application }: Holder): string {
  return `${pid} (user ${user ?? 'unknown'}, application ${application || 'unknown'})`;
}

function refusal(holder: Holder): string {
  return (
    `session ${describe(holder)} keeps the migration lock: wait for it if it is another migration, otherwise ` +
    `end it with select pg_terminate_backend(${holder.pid}), then migrate again`
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
