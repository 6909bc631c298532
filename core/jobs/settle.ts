import type { StoredError } from '../failure.ts';
import type { JobStatus } from '../job.ts';
import { type Log, processLog } from '../log.ts';
import { type Database, errorCode, isStatementError } from '../postgres/database.ts';

/** How an attempt ended, as runtime or rescue saw it. The row's limits and cancel requests have the last word. */
export type Ending =
  /** `result`: JSON text, or null for none. */
  | { readonly kind: 'succeeded'; readonly result: string | null }
  | { readonly kind: 'failed'; readonly error: StoredError; readonly delaySeconds: number }
  | { readonly kind: 'dead_letter'; readonly error: StoredError }
  | { readonly kind: 'skipped' | 'cancelled'; readonly error: StoredError }
  | { readonly kind: 'snoozed'; readonly error: StoredError; readonly delaySeconds: number };

export interface Settlement {
  readonly jobId: string;
  readonly claimNo: string;
  readonly ending: Ending;
}

/** What became of a settlement. `status` is null when the row was not ours to change, was locked or refused. */
export interface Settled {
  readonly jobId: string;
  readonly status: JobStatus | null;
  /** When it is due again, if it waits. */
  readonly dueAt?: Date | null;
}

// Nearly every batch has all succeeded. The function is in migrations/0009_endings.sql, which says how a job ends and dies.
const FINISH_SUCCESSES = `
  select id as "jobId", 'succeeded' as status
    from millrace.finish($1::bigint[], $2::bigint[], $3::text[], $4::text[], null, null, $5) as id`;

// All other batches. The function is in migrations/0008_attempts.sql.
const SETTLE_ATTEMPTS = `
  select id as "jobId", status, due_at as "dueAt"
    from millrace.settle($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                         $8::text[], $9::float8[], $10)`;

export interface SettleOptions {
  /** Only attempts of this Lambda request; null for a rescue. */
  readonly requestId: string | null;
  /** Told of every outcome that the database refused. Default: the log of the process. */
  readonly log?: Log;
}

/**
 * Ends attempts: the only way out of `running`. One statement for all; when one row makes it fail, row by row, so that
 * it fails alone. Answers in the order of the input.
 */
export async function settle(
  db: Database,
  settlements: readonly Settlement[],
  options: SettleOptions,
): Promise<Settled[]> {
  if (settlements.length === 0) return [];
  const done = await settleAll(db, settlements, options).catch((error: unknown) => {
    if (!isStatementError(error)) throw error;
    return settleOneByOne(db, settlements, options);
  });
  const byId = new Map(done.map((row) => [row.jobId, row]));
  return settlements.map(({ jobId }) => byId.get(jobId) ?? { jobId, status: null });
}

async function settleAll(db: Database, settlements: readonly Settlement[], { requestId }: SettleOptions) {
  const endings = settlements.map(({ ending }) => ending);
  if (requestId !== null && endings.every(({ kind }) => kind === 'succeeded')) {
    return finishSuccesses(db, settlements, requestId);
  }
  const errors = endings.map((ending) => ('error' in ending ? ending.error : null));
  const { rows } = await db.query<Settled>(SETTLE_ATTEMPTS, [
    settlements.map(({ jobId }) => jobId),
    settlements.map(({ claimNo }) => claimNo),
    endings.map(({ kind }) => kind),
    endings.map((ending) => (ending.kind === 'succeeded' ? ending.result : null)),
    errors.map((error) => error?.name ?? null),
    errors.map((error) => error?.message ?? null),
    errors.map((error) => error?.stack ?? null),
    errors.map((error) => error?.fingerprint ?? null),
    endings.map((ending) => ('delaySeconds' in ending ? ending.delaySeconds : 0)),
    requestId,
  ]);
  return rows;
}

async function finishSuccesses(db: Database, settlements: readonly Settlement[], requestId: string) {
  const { rows } = await db.query<Settled>(FINISH_SUCCESSES, [
    settlements.map(({ jobId }) => jobId),
    settlements.map(({ claimNo }) => claimNo),
    settlements.map(() => 'succeeded'),
    settlements.map(({ ending }) => (ending.kind === 'succeeded' ? ending.result : null)),
    requestId,
  ]);
  return rows;
}

async function settleOneByOne(db: Database, settlements: readonly Settlement[], options: SettleOptions) {
  const done: Settled[] = [];
  for (const settlement of settlements) done.push(...(await settleOne(db, settlement, options)));
  return done;
}

/**
 * What cannot be stored ends without its result or stack: the outcome matters more than its ornaments. A row that
 * refuses even this stays as it is and harms no other. What was refused is told, so that nobody has to guess why.
 */
async function settleOne(db: Database, settlement: Settlement, options: SettleOptions): Promise<Settled[]> {
  const { log = processLog } = options;
  for (const ending of [settlement.ending, plain(settlement.ending)]) {
    try {
      return await settleAll(db, [{ ...settlement, ending }], options);
    } catch (error) {
      if (!isStatementError(error)) throw error;
      log.error('settle_refused', { job_id: settlement.jobId, ended: ending.kind, sqlstate: errorCode(error), error });
      if (!isUnstorable(error)) return [];
    }
  }
  return [];
}

/** A value that does not fit (22, 23, 54), as against a lock or a statement that is wrong. */
function isUnstorable(error: unknown): boolean {
  return /^(22|23|54)/.test(errorCode(error) ?? '');
}

function plain(ending: Ending): Ending {
  if (ending.kind === 'succeeded') return { kind: 'succeeded', result: null };
  const error = { ...ending.error, message: 'the error could not be stored', stack: null };
  return { ...ending, error };
}
