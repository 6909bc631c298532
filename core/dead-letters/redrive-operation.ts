import type { Queryable } from '../postgres/database.ts';
import { type DeadLetterFilter, filterJson } from './filter.ts';

/** What a redrive was started for, in the form in which the API accepts it. */
export interface RedriveFilter {
  readonly job_type?: readonly string[] | undefined;
  readonly routing_key?: string | undefined;
  readonly id?: readonly string[] | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly error?: string | undefined;
  readonly group?: string | undefined;
  readonly limit?: number | undefined;
  readonly all?: boolean | undefined;
  /** True when the filter is too large for a list, and its parts are left out. */
  readonly too_large?: boolean | undefined;
}

/** A redrive by filter and its progress. */
export interface RedriveOperation {
  readonly id: string;
  readonly status: 'running' | 'paused' | 'done' | 'cancelled';
  /** Jobs a second; null without a limit. */
  readonly ratePerSecond: number | null;
  /** Number of movable jobs that matched at the start. */
  readonly expected: number;
  /** Number of jobs that the redrive has moved. */
  readonly done: number;
  /** At the end: number of matching dead letters that it did not move, because they have no job or no handler. */
  readonly skipped: number;
  readonly filter: RedriveFilter;
  readonly requestedBy: string;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** An operation as stored in the table: its filter has the format of `millrace.matching_dead_letters`. */
interface OperationRow extends Omit<RedriveOperation, 'filter'> {
  readonly filter: Omit<RedriveFilter, 'job_type' | 'id'> & {
    readonly job_types?: RedriveFilter['job_type'];
    readonly job_ids?: RedriveFilter['id'];
  };
}

function toOperation(row: OperationRow): RedriveOperation {
  const {
    job_types: job_type,
    routing_key,
    job_ids: id,
    since,
    until,
    error,
    group,
    limit,
    all,
    too_large,
  } = row.filter;
  // The keys stay in the order of the API, so that both ways print the same.
  return { ...row, filter: { job_type, routing_key, id, since, until, error, group, limit, all, too_large } };
}

const READ_CLOCK = `select millrace.clock() as now`;
const START_REDRIVE = `select millrace.start_redrive($1::jsonb, $2) as id`;

/**
 * Starts a redrive of all dead letters that match now, and returns its id. The dispatcher moves the jobs; without a
 * rate (jobs a second), callers of `stepRedrive` move them too.
 */
export async function startRedrive(
  db: Queryable,
  filter: DeadLetterFilter,
  { rate = null, limit }: { rate?: number | null; limit?: number | undefined } = {},
): Promise<string> {
  const { rows: clock } = await db.query<{ now: Date }>(READ_CLOCK);
  const now = clock[0]?.now ?? new Date();
  const { rows } = await db.query<{ id: string }>(START_REDRIVE, [filterJson(filter, now, limit), rate]);
  return String(rows[0]?.id);
}

/** The largest filter in a list, in bytes of its JSON: 200 of them fit in a response. */
const LISTED_BYTES = 16_384;
/** The largest filter of one redrive: more than a hundred thousand ids, and less than Lambda returns. */
const SHOWN_BYTES = 4_194_304;

const STEP_REDRIVE = `
  select id, status, rate_per_second as "ratePerSecond", expected_count::integer as expected,
         done_count::integer as done, skipped_count::integer as skipped,
         case when octet_length(filter::text) <= $3 then filter else '{"too_large": true}' end as filter,
         requested_by as "requestedBy", created_at as "createdAt", finished_at as "finishedAt"
    from millrace.step_redrive($1, $2)`;

/** Moves up to `most` jobs within the rate, and returns the redrive; undefined if no redrive has this id. */
export async function stepRedrive(db: Queryable, id: string, most: number): Promise<RedriveOperation | undefined> {
  const { rows } = await db.query<OperationRow>(STEP_REDRIVE, [id, most, LISTED_BYTES]);
  return rows.map(toOperation)[0];
}

const READ_REDRIVES = `
  select id, status, rate_per_second as "ratePerSecond", expected_count::integer as expected,
         done_count::integer as done, skipped_count::integer as skipped,
         case when octet_length(filter::text) <= $6 then filter else '{"too_large": true}' end as filter,
         requested_by as "requestedBy", created_at as "createdAt", finished_at as "finishedAt"
    from millrace.operations
    where kind = 'redrive' and id = coalesce($1::bigint, id) and status = coalesce($2::text, status)
      and id < coalesce($4::bigint, 9223372036854775807)
    order by id desc offset $5 limit $3::integer`;

/** Returns a redrive without moving jobs; undefined if no redrive has this id. */
export async function readRedrive(db: Queryable, id: string): Promise<RedriveOperation | undefined> {
  const { rows } = await db.query<OperationRow>(READ_REDRIVES, [id, null, 1, null, 0, SHOWN_BYTES]);
  return rows.map(toOperation)[0];
}

interface RedriveWish {
  /** Status of the redrives; default: any. */
  readonly status?: RedriveOperation['status'] | undefined;
  /** Id of a redrive, to list only those that started before it. */
  readonly before?: string | undefined;
  readonly skip?: number;
  readonly limit: number;
}

/** Returns redrives, the newest first. */
export async function listRedrives(db: Queryable, wish: RedriveWish): Promise<RedriveOperation[]> {
  const { status = null, before = null, skip = 0, limit } = wish;
  const { rows } = await db.query<OperationRow>(READ_REDRIVES, [null, status, limit, before, skip, LISTED_BYTES]);
  return rows.map(toOperation);
}

const CANCEL_REDRIVE = `select millrace.cancel_redrive($1) as cancelled`;

/** Cancels a redrive; moved jobs are not moved back. Returns false if it had ended or had moved everything. */
export async function cancelRedrive(db: Queryable, id: string): Promise<boolean> {
  const { rows } = await db.query<{ cancelled: boolean }>(CANCEL_REDRIVE, [id]);
  return rows[0]?.cancelled === true;
}
