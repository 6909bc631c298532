import { systemTime, type Time } from '../time.ts';
import type { Database, Queryable } from './database.ts';
import { isLockTimeout, Undo } from './statement-errors.ts';

const WAIT_FOR_LOCK = `select pg_catalog.set_config('lock_timeout', $1, true)`;
// A row lock is in the row and not in pg_locks, but its transaction has a lock on the table and a transaction id. The
// oldest id belongs to the transaction that has been open longest; the first modes conflict with every writer.
// `xact_start` would be null for a login that may not see the other session.
const FIND_HOLDER = `
  select a.pid, a.usename as "user", a.application_name as application
    from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where l.relation = any($1::pg_catalog.regclass[]) and l.granted and l.mode <> 'AccessShareLock'
      and a.pid <> pg_catalog.pg_backend_pid()
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
    order by l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') desc,
             (select max(age(x.transactionid)) from pg_catalog.pg_locks x
                where x.pid = l.pid and x.locktype = 'transactionid' and x.granted) desc nulls last
    limit 1`;

/** How long a transaction waits for the locks of other sessions. */
export interface Patience {
  /** Longest wait for one lock, in milliseconds. The transaction keeps what it has locked before. */
  readonly waitMs: number;
  /** Pause between two attempts, in milliseconds, during which it has no locks. */
  readonly pauseMs: number;
  readonly tries: number;
}

/** A session that has a lock. */
export interface Holder {
  /** Null when the session ended before it was found. */
  readonly pid: number | null;
  readonly user: string | null;
  readonly application: string | null;
}

export interface LockWait {
  readonly patience: Patience;
  /** Returns the tables on which, or on whose rows, the transaction waited for a lock. */
  readonly tables: () => readonly string[];
  /** Called after each wait. */
  readonly onWait: (holder: Holder) => void;
  /** Returns the error after the last wait. */
  readonly refuse: (holder: Holder) => Error;
  readonly time?: Time;
}

/** Another session has the lock. */
class Busy extends Undo {
  override readonly name = 'Busy';
}

/** Runs one transaction, and repeats it while `waitingForLocks` in it fails because other sessions hold the locks. */
export async function repeatWhileLocked<T>(
  db: Database,
  { patience, tables, onWait, refuse, time = systemTime }: LockWait,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  for (let turn = 1; ; turn++) {
    const done = await db.transaction(async (tx) => ({ value: await work(tx) })).catch(unlessBusy);
    if (done !== undefined) return done.value;
    const [holder = { pid: null, user: null, application: null }] = (await db.query<Holder>(FIND_HOLDER, [tables()]))
      .rows;
    onWait(holder);
    if (turn >= patience.tries) throw refuse(holder);
    await time.sleep(patience.pauseMs);
  }
}

/** Limits the waits of the statements of `work` for locks; after a longer one, the transaction is rolled back. */
export async function waitingForLocks<T>(tx: Queryable, { waitMs }: Patience, work: () => Promise<T>): Promise<T> {
  await tx.query(WAIT_FOR_LOCK, [String(waitMs)]);
  return work().catch((error: unknown) => {
    throw isLockTimeout(error) ? new Busy('', { cause: error }) : error;
  });
}

function unlessBusy(error: unknown): undefined {
  if (!(error instanceof Busy)) throw error;
}

/** Describes a session, for a log or an error. */
export function sessionText({ pid, user, application }: Holder): string {
  return `session ${pid ?? 'unknown'} (user ${user ?? 'unknown'}, application ${application || 'unknown'})`;
}

/** Returns how to end a session that keeps a lock. */
export function endingText({ pid }: Holder): string {
  return pid === null ? 'end its session' : `end it with select pg_terminate_backend(${pid})`;
}
