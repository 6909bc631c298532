import type { StoredError } from '../failure.ts';
import type { JobStatus } from '../job.ts';
import { type Log, processLog } from '../log.ts';
import { type Database, errorCode, isStatementError } from '../postgres/database.ts';
import { settleSuccesses } from './settle-successes.ts';

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

// Every ending of every kind; one probe of the primary key a job, whatever the statistics say. $11 marks a rescue, and
// demands that the lease is over. Jobs that are locked are skipped, but the letter, history or request of one can be
// held as well: the statement gives up on it soon, and row by row the others end without it.
const SETTLE_ATTEMPTS = `
  with input as (
    select i.* from (select set_config('lock_timeout', '200ms', true)) as patience,
        unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
               $9::float8[])
          as i(id, claim_no, kind, result, error_name, error_message, error_stack, fingerprint, delay)
  ), locked as materialized (
    select j.id, j.claim_no, j.job_type, j.routing_key, j.attempts, j.started_at, j.request_id,
           greatest(j.run_at, j.next_retry_at) as due_at,
           i.kind, i.result, i.error_name, i.error_message, i.error_stack, i.fingerprint, i.delay,
           case when i.kind = 'succeeded' then 'succeeded'
                when i.kind = 'skipped' then 'skipped'
                when i.kind = 'cancelled' or c.job_id is not null then 'cancelled'
                when i.kind = 'snoozed' then 'pending'
                when i.kind = 'dead_letter' or j.attempts >= j.max_attempts then 'dead_letter'
                else 'failed' end as status
      from (select * from input order by id) i
      cross join lateral (
        select k.* from millrace.jobs_live k
          where k.id = i.id and k.claim_no = i.claim_no and k.status = 'running'
            and ($10::text is null or k.request_id = $10) and (not $11 or k.lease_expires_at < millrace.clock())
          for update skip locked
      ) j
      left join millrace.cancel_requests c on c.job_id = j.id
  ), finished as (
    delete from millrace.jobs_live j using locked l
      where j.id = l.id and l.status in ('succeeded', 'skipped', 'cancelled')
      returning j.*, l.status as new_status, l.result as new_result, l.error_message
  ), kept as (
    insert into millrace.jobs_finished (id, slot, job_type, routing_key, payload, status, priority, attempts,
        max_attempts, run_at, claim_no, message_id, message_sent_at, request_id, dispatched_at, started_at, finished_at,
        created_at, updated_at, unique_key, group_key, last_error, result, progress, traceparent)
      select id, (select millrace.slot_of(millrace.clock())), job_type, routing_key, payload, new_status, priority,
        attempts, max_attempts, run_at, claim_no, message_id, message_sent_at, request_id, dispatched_at, started_at,
        millrace.clock(), created_at, millrace.clock(), unique_key, group_key,
        case when new_status <> 'succeeded' then coalesce(error_message, last_error) end,
        new_result::jsonb, progress, traceparent from finished
  ), answered as (
    delete from millrace.cancel_requests c using finished f where c.job_id = f.id
  ), waiting as (
    update millrace.jobs_live j
      set status = l.status, last_error = l.error_message, lease_expires_at = null, updated_at = millrace.clock(),
          suspect = $11,
          attempts = j.attempts - case when l.status = 'pending' then 1 else 0 end,
          run_at = case when l.status = 'pending' then millrace.clock() + make_interval(secs => l.delay)
                        else j.run_at end,
          next_retry_at = case when l.status = 'failed' then millrace.clock() + make_interval(secs => l.delay) end
      from locked l
      where j.id = l.id and l.status in ('failed', 'dead_letter', 'pending')
  ), remembered as (
    insert into millrace.job_attempts (job_id, claim_no, attempt, outcome, error_name, error_message, error_stacktrace,
        fingerprint, started_at, delay_seconds, request_id)
      select l.id, l.claim_no, l.attempts, case l.status when 'pending' then 'snoozed' else l.status end, l.error_name,
             l.error_message, l.error_stack, l.fingerprint, l.started_at,
             case when l.status in ('failed', 'pending') then l.delay end, l.request_id
        from locked l where l.status <> 'succeeded'
        on conflict do nothing
  ), dead as (
    insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, error_stacktrace,
        fingerprint)
      select l.id, l.claim_no, l.job_type, l.routing_key, l.error_message, l.error_stack, l.fingerprint
        from locked l where l.status = 'dead_letter'
      on conflict (job_id) where status = 'open' do nothing
  ), counted as (
    insert into millrace.job_events (event, job_type, status, count)
      select e.event, l.job_type, l.status, count(*)
        from locked l, lateral (values
          ('succeeded', l.status = 'succeeded'),
          ('failed', l.status in ('failed', 'dead_letter')
                     or l.status = 'cancelled' and l.kind in ('failed', 'dead_letter')),
          ('retried', l.status = 'failed'),
          ('dead_lettered', l.status = 'dead_letter')) as e(event, happened)
        where e.happened
        group by e.event, l.job_type, l.status
  ), timed as (
    insert into millrace.job_timings (job_type, outcome, wait_bucket, run_bucket, count, wait_seconds, run_seconds)
      select t.job_type, case t.status when 'pending' then 'snoozed' else t.status end, width_bucket(t.wait, b.bounds),
             width_bucket(t.run, b.bounds), count(*), sum(t.wait), sum(t.run)
        from (select job_type, status, extract(epoch from started_at - due_at)::float8 as wait,
                     extract(epoch from millrace.clock() - started_at)::float8 as run from locked) t,
             (select millrace.timing_bounds() as bounds) b
        group by 1, 2, 3, 4
  )
  select id as "jobId", status,
         case when status in ('failed', 'pending') then millrace.clock() + make_interval(secs => delay) end as "dueAt"
    from locked`;

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
    return settleSuccesses(db, settlements, requestId);
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
    requestId === null,
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
