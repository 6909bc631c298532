import { jobsFields, type Log, processLog } from '../log.ts';
import type { Outcome, Settled, Settlement } from '../outcome.ts';
import type { Database } from '../postgres/database.ts';
import { errorCode, isStatementError } from '../postgres/statement-errors.ts';

// The usual batch, in which every attempt succeeded. migrations/0009_endings.sql defines how a job ends and how it
// dies.
const FINISH_SUCCESSES = `
  select id as "jobId", 'succeeded' as status
    from millrace.finish($1::bigint[], $2::bigint[], $3::text[], $4::text[], null, null, $5) as id`;

// All other batches. The function is in migrations/0008_attempts.sql.
const SETTLE_ATTEMPTS = `
  select id as "jobId", status, due_at as "dueAt"
    from millrace.settle($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                         $8::text[], $9::float8[], $10::boolean[], $11)`;

export interface SettleOptions {
  /** Settles only attempts of this Lambda request; null for a rescue. */
  readonly requestId: string | null;
  /** Receives one event for all outcomes that the database refused. Default: the log of the process. */
  readonly log?: Log;
  /** Called with the error of every outcome that the database refused. */
  readonly onRefused?: (error: unknown) => void;
}

/**
 * Ends attempts; no other function does. Settles all attempts in one statement, or row by row when one row makes the
 * statement fail. Returns results in the order of the input.
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
  const outcomes = settlements.map(({ outcome }) => outcome);
  if (requestId !== null && outcomes.every(({ kind }) => kind === 'succeeded')) {
    return finishSuccesses(db, settlements, requestId);
  }
  const errors = outcomes.map((outcome) => ('error' in outcome ? outcome.error : null));
  const { rows } = await db.query<Settled>(SETTLE_ATTEMPTS, [
    settlements.map(({ jobId }) => jobId),
    settlements.map(({ claimNo }) => claimNo),
    outcomes.map(({ kind }) => kind),
    outcomes.map((outcome) => (outcome.kind === 'succeeded' ? outcome.result : null)),
    errors.map((error) => error?.name ?? null),
    errors.map((error) => error?.message ?? null),
    errors.map((error) => error?.stack ?? null),
    errors.map((error) => error?.fingerprint ?? null),
    outcomes.map((outcome) => ('delaySeconds' in outcome ? outcome.delaySeconds : 0)),
    settlements.map(({ suspect }) => suspect ?? false),
    requestId,
  ]);
  return rows;
}

async function finishSuccesses(db: Database, settlements: readonly Settlement[], requestId: string) {
  const { rows } = await db.query<Settled>(FINISH_SUCCESSES, [
    settlements.map(({ jobId }) => jobId),
    settlements.map(({ claimNo }) => claimNo),
    settlements.map(() => 'succeeded'),
    settlements.map(({ outcome }) => (outcome.kind === 'succeeded' ? outcome.result : null)),
    requestId,
  ]);
  return rows;
}

/** A job whose outcome the database refused, and the error. */
interface Refusal {
  readonly jobId: string;
  readonly error: unknown;
}

/**
 * Logs one event for all refusals: with a full disk or a failing trigger, every row is refused for the same reason.
 */
async function settleOneByOne(db: Database, settlements: readonly Settlement[], options: SettleOptions) {
  const { log = processLog } = options;
  const done: Settled[] = [];
  const refusals: Refusal[] = [];
  try {
    for (const settlement of settlements) done.push(...(await settleOne(db, settlement, options, refusals)));
  } finally {
    const [first] = refusals;
    if (first) {
      const sqlstate = [...new Set(refusals.map(({ error }) => errorCode(error)))].join(' ');
      const fields = jobsFields([...new Set(refusals.map(({ jobId }) => jobId))]);
      log.error('settle_refused', { ...fields, sqlstate, error: first.error });
    }
  }
  return done;
}

/**
 * Stores the outcome even if its result or stack cannot be stored. If the database refuses this too, the row stays
 * unchanged and the other rows are not affected. Adds every refusal to `refusals`.
 */
async function settleOne(db: Database, settlement: Settlement, options: SettleOptions, refusals: Refusal[]) {
  for (const outcome of [settlement.outcome, plain(settlement.outcome)]) {
    try {
      return await settleAll(db, [{ ...settlement, outcome }], options);
    } catch (error) {
      if (!isStatementError(error)) throw error;
      refusals.push({ jobId: settlement.jobId, error });
      options.onRefused?.(error);
      if (!isUnstorable(error)) return [];
    }
  }
  return [];
}

/** Returns whether Postgres refused a value (classes 22, 23, 54) rather than a lock or the statement. */
function isUnstorable(error: unknown): boolean {
  return /^(22|23|54)/.test(errorCode(error) ?? '');
}

function plain(outcome: Outcome): Outcome {
  if (outcome.kind === 'succeeded') return { kind: 'succeeded', result: null };
  const error = { ...outcome.error, message: 'the error could not be stored', stack: null };
  return { ...outcome, error };
}
