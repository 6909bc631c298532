import { conditionText, type PayloadCondition } from '../look/job-filter.ts';
import type { Queryable } from '../postgres/database.ts';

/** What an operation on jobs does. */
export const ACTIONS = ['cancel', 'retry', 'discard', 'delete', 'reschedule'] as const;
export type OperationAction = (typeof ACTIONS)[number];
export const OPERATION_STATUSES = ['running', 'paused', 'done', 'cancelled'] as const;

/** A change of many jobs by filter, and its progress. A redrive is an operation too. */
export interface Operation {
  readonly id: string;
  readonly kind: OperationAction | 'redrive';
  readonly status: (typeof OPERATION_STATUSES)[number];
  /** Jobs a second; null without a limit. */
  readonly ratePerSecond: number | null;
  /** Number of jobs that matched at the start; null if they were not counted. */
  readonly expected: number | null;
  /** Number of jobs that were changed. */
  readonly done: number;
  /** Numbers of matching jobs that were not changed, by reason. */
  readonly left: Readonly<Record<string, number>>;
  /** Part of the jobs that were examined, from 0 to 1. */
  readonly examined: number;
  /** What it was started for, in the form in which the API accepts it. */
  readonly filter: OperationFilter;
  /** What a reschedule sets; null for others. */
  readonly change: JobChange | null;
  readonly reason: string | null;
  /** What arrived or changed later is not touched. */
  readonly asOf: Date;
  readonly requestedBy: string;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** The filter of an operation; that of a redrive has its own parts. */
export interface OperationFilter {
  readonly status?: readonly string[] | undefined;
  readonly job_type?: readonly string[] | undefined;
  readonly id?: readonly string[] | undefined;
  readonly payload?: readonly string[] | undefined;
  readonly limit?: number | undefined;
  readonly all?: boolean | undefined;
  /** True when the filter is too large for a list, and its parts are left out. */
  readonly too_large?: boolean | undefined;
  readonly [part: string]: unknown;
}

/** An operation as stored in the table. */
interface OperationRow extends Omit<Operation, 'filter'> {
  readonly filter: Readonly<Record<string, unknown>> & {
    readonly statuses?: OperationFilter['status'];
    readonly job_types?: OperationFilter['job_type'];
    readonly job_ids?: OperationFilter['id'];
    readonly payload?: readonly PayloadCondition[];
  };
}

function toOperation(row: OperationRow): Operation {
  const { statuses, job_types, job_ids, payload, ...rest } = row.filter;
  const named = { status: statuses, job_type: job_types, id: job_ids, payload: payload?.map(conditionText) };
  const given = Object.entries(named).filter(([, value]) => value !== undefined);
  return { ...row, filter: { ...Object.fromEntries(given), ...rest } };
}

/** What a reschedule sets: a time, `now`, a priority, or both. */
export interface JobChange {
  readonly run_at?: string | undefined;
  readonly priority?: number | undefined;
}

const COLUMNS = `
  select o.id, o.kind, o.status, o.rate_per_second as "ratePerSecond", o.expected_count::integer as expected,
         o.done_count::integer as done,
         case when o.kind <> 'redrive' then o.left_counts
              when o.skipped_count > 0 then jsonb_build_object('left_dead', o.skipped_count) else '{}' end as left,
         case when o.status = 'done' then 1
              else least(1, o.cursor_id / greatest(1, (o.filter ->> 'until_id')::float8)) end as examined,
         case when octet_length(o.filter::text) <= $3 then o.filter - 'until_id'
              else '{"too_large": true}' end as filter,
         o.change, o.reason, o.as_of as "asOf", o.requested_by as "requestedBy", o.created_at as "createdAt",
         o.finished_at as "finishedAt"`;
/** The largest filter in a list, in bytes of its JSON: 200 of them fit in a response. */
const LISTED_BYTES = 16_384;

const STEP_OPERATION = `${COLUMNS} from millrace.step_operation($1, $2) o`;

/** Changes up to `most` jobs within the rate, and returns the operation; undefined if no operation has this id. */
export async function stepOperation(db: Queryable, id: string, most: number): Promise<Operation | undefined> {
  return (await db.query<OperationRow>(STEP_OPERATION, [id, most, LISTED_BYTES])).rows.map(toOperation)[0];
}

const READ_OPERATIONS = `${COLUMNS}
    from millrace.operations o
    where o.id = coalesce($1::bigint, o.id) and o.status = coalesce($4::text, o.status)
      and o.kind = coalesce($5::text, o.kind) and o.id < coalesce($6::bigint, 9223372036854775807)
    order by o.id desc offset $7 limit $2::integer`;

/** Returns an operation; undefined if no operation has this id. */
export async function readOperation(db: Queryable, id: string): Promise<Operation | undefined> {
  const values = [id, 1, LISTED_BYTES, null, null, null, 0];
  return (await db.query<OperationRow>(READ_OPERATIONS, values)).rows.map(toOperation)[0];
}

interface OperationWish {
  readonly status?: Operation['status'] | undefined;
  readonly kind?: Operation['kind'] | undefined;
  /** Id of an operation, to list only those that started before it. */
  readonly before?: string | undefined;
  readonly skip?: number;
  readonly limit: number;
}

/** Returns operations, the newest first. */
export async function listOperations(db: Queryable, wish: OperationWish): Promise<Operation[]> {
  const { status = null, kind = null, before = null, skip = 0, limit } = wish;
  const values = [null, limit, LISTED_BYTES, status, kind, before, skip];
  return (await db.query<OperationRow>(READ_OPERATIONS, values)).rows.map(toOperation);
}

const PAUSE_OPERATION = `select millrace.pause_operation($1) as changed`;
const RESUME_OPERATION = `select millrace.resume_operation($1) as changed`;
const CANCEL_OPERATION = `select millrace.cancel_operation($1) as changed`;
const CONTROL = { pause: PAUSE_OPERATION, resume: RESUME_OPERATION, cancel: CANCEL_OPERATION } as const;
export type OperationVerb = keyof typeof CONTROL;

/**
 * Pauses, resumes or cancels an operation. What it has changed stays changed. Returns false if the state of the
 * operation does not permit it, or no operation has this id.
 */
export async function controlOperation(db: Queryable, id: string, verb: OperationVerb): Promise<boolean> {
  const { rows } = await db.query<{ changed: boolean }>(CONTROL[verb], [id]);
  return rows[0]?.changed === true;
}
