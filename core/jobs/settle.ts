import type { Settled, Settlement } from '../outcome.ts';
import { arrayText } from '../postgres/array-text.ts';
import type { Database } from '../postgres/database.ts';
import { isLockTimeout, isStatementError, isStatementTimeout } from '../postgres/statement-errors.ts';
import { type LockWaits, type SettleOptions, settleEach } from './settle-each.ts';

// The usual batch, in which every attempt succeeded. migrations/0009_endings.sql defines how a job ends and how it
// dies.
const FINISH_SUCCESSES = `
  select case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id::text), '{}') end as ids
    from millrace.finish($1::bigint[], $2::bigint[], null, $3::text[], null, null, $4) as id`;

// All other batches. The function is in migrations/0008_attempts.sql.
const SETTLE_ATTEMPTS = `
  select id as "jobId", status, due_at as "dueAt"
    from millrace.settle($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                         $8::text[], $9::float8[], $10::boolean[], $11)`;

// Attempts that enqueued jobs with their success. The second function is in migrations/0015_follow_ups.sql.
const SETTLE_WITH_JOBS = `
  with ended as materialized (
    select id, status, due_at
      from millrace.settle($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                           $8::text[], $9::float8[], $10::boolean[], $11)
  ), enqueued as materialized (
    select millrace.enqueue_follow_ups(array_agg(id), $12::text::jsonb) from ended
      where status = 'succeeded' having count(*) > 0
  )
  select id as "jobId", status, due_at as "dueAt" from ended, (select count(*) from enqueued) called`;

/** Jobs that one statement enqueues with successes; an attempt with more has a statement of its own. */
const MOST_ENQUEUED = 1_000;
/** JSON text that counts like one job. */
const TEXT_OF_A_JOB = 1_000;
/**
 * Longest time for the statement of more jobs, in milliseconds: what remains of an invocation after the timeout of the
 * last attempt, without its last log lines. Ten thousand jobs take a second on two cores.
 */
const LARGE_MS = 7_000;
const PROGRAM_LIMIT_EXCEEDED = '54000';
/** Longest wait for a lock, such as on a row or on a unique key of a job that an attempt enqueues, in milliseconds. */
const LOCK_MS = 200;
/**
 * Waits for locks after which one call settles no more attempts that enqueue jobs. An application can keep a unique key
 * for minutes, and the outcomes of other jobs of the batch must not wait for it.
 */
const MOST_LOCK_WAITS = 3;

/**
 * Ends attempts; no other function does. Settles all attempts in one statement, or row by row when one row makes the
 * statement fail; attempts that enqueued jobs have statements of their own. Returns results in the order of the input.
 * The caller tries attempts that remain without a result again, first those that `onRefused` was not called for.
 */
export async function settle(
  db: Database,
  settlements: readonly Settlement[],
  options: SettleOptions,
): Promise<Settled[]> {
  const done: Settled[] = [];
  const waits: LockWaits = { left: MOST_LOCK_WAITS };
  for (const part of partsOf(settlements)) {
    if (waits.left <= 0) break;
    try {
      done.push(...(await settlePart(db, part, { ...options, ...(part.some(jobsOf) && { waits }) })));
    } catch (error) {
      if (done.length === 0) throw error;
      // The caller must learn what is stored; it settles the others again.
      options.onRefused?.(error);
      break;
    }
  }
  const byId = new Map(done.map((row) => [row.jobId, row]));
  return settlements.map(({ jobId }) => byId.get(jobId) ?? { jobId, status: null });
}

/** Returns the settlements of each statement: first those that enqueue nothing. */
function partsOf(settlements: readonly Settlement[]): Settlement[][] {
  const parts = [settlements.filter((one) => jobsOf(one) === 0)];
  let room = 0;
  for (const one of settlements) {
    const jobs = jobsOf(one);
    if (jobs === 0) continue;
    if (jobs > room) {
      parts.push([]);
      room = MOST_ENQUEUED;
    }
    room -= jobs;
    parts.at(-1)?.push(one);
  }
  return parts.filter((part) => part.length > 0);
}

/** Returns the number of jobs that a success enqueues; a large payload counts as several. */
function jobsOf({ outcome }: Settlement): number {
  if (outcome.kind !== 'succeeded' || outcome.enqueued === undefined) return 0;
  const { groups, jobs } = outcome.enqueued;
  return Math.max(jobs, groups.reduce((sum, { length }) => sum + length, 0) / TEXT_OF_A_JOB);
}

interface PartOptions extends SettleOptions {
  readonly waits?: LockWaits;
}

function settlePart(db: Database, settlements: readonly Settlement[], options: PartOptions): Promise<Settled[]> {
  return settleAll(db, settlements, options).catch((error: unknown) => {
    if (!isStatementError(error)) throw error;
    if (options.waits && isLockTimeout(error)) options.waits.left -= 1;
    let tooLong = tooLongError(settlements, error);
    return settleEach(settlements, options, async (one) => {
      const refusal = tooLong;
      tooLong = undefined;
      if (refusal !== undefined) throw refusal;
      return settleAll(db, [one], options);
    });
  });
}

/**
 * Returns the refusal of a success with more jobs than Postgres could insert in time: a second try would outlast the
 * invocation, and the job would be rescued as if it had ended its process. Undefined after any other error.
 */
function tooLongError(settlements: readonly Settlement[], error: unknown): Error | undefined {
  const jobs = settlements.reduce((sum, one) => sum + jobsOf(one), 0);
  if (settlements.length > 1 || jobs <= MOST_ENQUEUED || !isStatementTimeout(error)) return undefined;
  const message = `they took longer than ${LARGE_MS / 1000} s: enqueue fewer jobs in one attempt`;
  return Object.assign(new Error(message, { cause: error }), { code: PROGRAM_LIMIT_EXCEEDED });
}

async function settleAll(
  db: Database,
  settlements: readonly Settlement[],
  { requestId }: SettleOptions,
): Promise<Settled[]> {
  const outcomes = settlements.map(({ outcome }) => outcome);
  const enqueued = settlements.flatMap(enqueuedText);
  if (requestId !== null && enqueued.length === 0 && outcomes.every(({ kind }) => kind === 'succeeded')) {
    try {
      return await finishSuccesses(db, settlements, requestId);
    } catch (error) {
      // Another transaction keeps a row locked: the statement for all other batches skips it.
      if (!isLockTimeout(error)) throw error;
    }
  }
  const errors = outcomes.map((outcome) => ('error' in outcome ? outcome.error : null));
  const values = [
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
  ];
  if (enqueued.length === 0) return (await db.query<Settled>(SETTLE_ATTEMPTS, values)).rows;
  const isLarge = settlements.reduce((sum, one) => sum + jobsOf(one), 0) > MOST_ENQUEUED;
  const using = db.limited({ lockMs: LOCK_MS, ...(isLarge && { statementMs: LARGE_MS }) });
  return (await using.query<Settled>(SETTLE_WITH_JOBS, [...values, `[${enqueued.join()}]`])).rows;
}

/** Returns the groups of jobs of a success as JSON objects. */
function enqueuedText({ jobId, outcome }: Settlement): string[] {
  const groups = outcome.kind === 'succeeded' ? (outcome.enqueued?.groups ?? []) : [];
  return groups.map((members) => `{"parent":"${jobId}",${members}}`);
}

async function finishSuccesses(
  db: Database,
  settlements: readonly Settlement[],
  requestId: string,
): Promise<Settled[]> {
  const results = settlements.map(({ outcome }) => (outcome.kind === 'succeeded' ? outcome.result : null));
  const { rows } = await db
    .limited({ lockMs: LOCK_MS })
    .query<{ ids: readonly string[] | null }>(FINISH_SUCCESSES, [
      arrayText(settlements.map(({ jobId }) => jobId)),
      arrayText(settlements.map(({ claimNo }) => claimNo)),
      results.every((result) => result === null) ? null : results,
      requestId,
    ]);
  // Null: all of them.
  const ids = rows[0]?.ids ?? settlements.map(({ jobId }) => jobId);
  return ids.map((jobId) => ({ jobId, status: 'succeeded' }));
}
