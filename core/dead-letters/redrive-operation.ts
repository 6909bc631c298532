import type { Queryable } from '../postgres/database.ts';
import { type DeadLetterFilter, filterJson } from './filter.ts';

/** A redrive by filter, as it stands. */
export interface RedriveOperation {
  readonly id: string;
  readonly status: 'running' | 'done' | 'cancelled';
  /** Jobs a second; null for as fast as it goes. */
  readonly ratePerSecond: number | null;
  /** Jobs that matched and could be moved when it began. */
  readonly expected: number;
  /** Jobs that are back at work. */
  readonly done: number;
  /** At the end: what matched and is still open, because it is nobody's job or has no handler. */
  readonly skipped: number;
  readonly requestedBy: string;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

const READ_CLOCK = `select millrace.clock() as now`;
const START_REDRIVE = `select millrace.start_redrive($1::jsonb, $2) as id`;

/**
 * Begins a redrive of everything that matches now. With a rate, jobs a second, the dispatcher works it off; without
 * one whoever calls `stepRedrive`, or the dispatcher. Answers its id.
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

const STEP_REDRIVE = `
  select id, status, rate_per_second as "ratePerSecond", expected_count::integer as expected,
         done_count::integer as done, skipped_count::integer as skipped, requested_by as "requestedBy",
         created_at as "createdAt", finished_at as "finishedAt"
    from millrace.step_redrive($1, $2)`;

/** Moves up to `most` jobs of it, as its rate allows; answers how it stands, undefined when there is none. */
export async function stepRedrive(db: Queryable, id: string, most: number): Promise<RedriveOperation | undefined> {
  const { rows } = await db.query<RedriveOperation>(STEP_REDRIVE, [id, most]);
  return rows[0];
}

const READ_REDRIVES = `
  select id, status, rate_per_second as "ratePerSecond", expected_count::integer as expected,
         done_count::integer as done, skipped_count::integer as skipped, requested_by as "requestedBy",
         created_at as "createdAt", finished_at as "finishedAt"
    from millrace.operations
    where kind = 'redrive' and id = coalesce($1::bigint, id) and status = coalesce($2::text, status)
      and id < coalesce($4::bigint, 9223372036854775807)
    order by id desc offset $5 limit $3::integer`;

/** How it stands, without doing anything; undefined when there is none. */
export async function readRedrive(db: Queryable, id: string): Promise<RedriveOperation | undefined> {
  const { rows } = await db.query<RedriveOperation>(READ_REDRIVES, [id, null, 1, null, 0]);
  return rows[0];
}

/** Those that are not at their end, the oldest first. */
export async function runningRedrives(db: Queryable): Promise<RedriveOperation[]> {
  const { rows } = await db.query<RedriveOperation>(READ_REDRIVES, [null, 'running', null, null, 0]);
  return rows.toReversed();
}

interface RedriveWish {
  /** Default: the ended ones too. */
  readonly status?: RedriveOperation['status'] | undefined;
  /** Those that began before this one. */
  readonly before?: string | undefined;
  readonly skip?: number;
  readonly limit: number;
}

/** The newest first. */
export async function listRedrives(db: Queryable, wish: RedriveWish): Promise<RedriveOperation[]> {
  const { status = null, before = null, skip = 0, limit } = wish;
  const { rows } = await db.query<RedriveOperation>(READ_REDRIVES, [null, status, limit, before, skip]);
  return rows;
}

const CANCEL_REDRIVE = `select millrace.cancel_redrive($1) as cancelled`;

/** Ends it; what was moved stays moved. False when it was not running. */
export async function cancelRedrive(db: Queryable, id: string): Promise<boolean> {
  const { rows } = await db.query<{ cancelled: boolean }>(CANCEL_REDRIVE, [id]);
  return rows[0]?.cancelled === true;
}
