import type { JoinPosition } from '../jobs/advance-joins.ts';
import type { SavedFloors } from '../jobs/claim-floors.ts';
import type { Database } from '../postgres/database.ts';

const REGISTER_RUN = `
  update millrace.dispatcher_runs set run_no = run_no + 1, registered_at = millrace.clock()
    returning run_no as "runNo"`;

/** Registers this run of the dispatcher; an earlier run stops after its present round. */
export async function registerRun(db: Database): Promise<string> {
  const { rows } = await db.query<{ runNo: string }>(REGISTER_RUN);
  return rows[0]?.runNo ?? '0';
}

const READ_FLOORS = `
  select floors::text as floors, floors ->> 'queued' as queued, floors ->> 'joins' as joins,
         1000 * (extract(epoch from millrace.clock())::float8 - (floors ->> 'storedAt')::float8) as "ageMs"
    from millrace.dispatcher_runs where floors is not null`;
const STORE_FLOORS = `
  update millrace.dispatcher_runs
    set floors = $1::text::jsonb || jsonb_build_object('storedAt', extract(epoch from millrace.clock())::float8,
      'queued', $2::text, 'joins', $3::text)`;

/** Where the looks of a run at queued ticks and at jobs that wait for children continue. */
export interface Places {
  readonly queued: { position: string };
  readonly joins: JoinPosition;
}

/**
 * Returns the floors of claims and the places that a run stored last; without floors before the first. A run of one
 * round would otherwise look at the same part of many schedules or jobs each time.
 */
export async function readFloors(db: Database): Promise<Places & { readonly floors: SavedFloors | undefined }> {
  type Row = SavedFloors & { readonly queued: string | null; readonly joins: string | null };
  const [row] = (await db.query<Row>(READ_FLOORS)).rows;
  return { floors: row, queued: { position: row?.queued ?? '' }, joins: { position: row?.joins ?? '0' } };
}

export async function storeFloors(db: Database, floors: string, { queued, joins }: Places): Promise<void> {
  await db.query(STORE_FLOORS, [floors, queued.position, joins.position]);
}

// Active means that a job was enqueued, is in flight, or is due within a minute, as a tick of a schedule may be. The
// statement makes ten probes of the claim's index for each handler, regardless of the size of the table. The `order by`
// makes Postgres use the index even if statistics are missing or suggest that any row qualifies.
const STORE_ROUND = `
  with issued as (
    -- A sequence that was never asked shows the number that it will give first.
    select case when is_called then last_value else 0 end as last_id from millrace.job_ids
  )
  update millrace.dispatcher_runs r
    set last_round_at = millrace.clock(), last_job_id = (select last_id from issued),
        last_active_at = case when $1 or (select last_id from issued) is distinct from r.last_job_id
          or exists (select from millrace.operations o where o.status = 'running')
          or exists (select from millrace.schedules s where s.paused_at is null and s.fault is null
               and s.next_tick_at < millrace.clock() + interval '1 minute')
          or exists (select from millrace.handler_starts s, lateral (
               select from millrace.jobs_live j
                 where j.job_type = s.job_type and j.routing_key = s.routing_key and j.in_flight
                   and j.claim_no >= s.lowest_claim order by j.claim_no limit 1) flying)
          -- Once a minute is enough for ten: an old transaction can make this search read the entries of all jobs.
          or r.last_active_at < millrace.clock() - interval '1 minute' and exists (
               select from millrace.handlers h, generate_series(0, 9) p(priority), lateral (
               select from millrace.jobs_live j
                 where j.job_type = h.job_type and j.routing_key = h.routing_key
                   and j.priority = p.priority::smallint and j.due_at is not null
                   and j.due_at < millrace.clock() + interval '1 minute' order by j.due_at limit 1) due)
          then millrace.clock() else r.last_active_at end
    returning r.run_no as "runNo", r.last_active_at > millrace.clock() - interval '10 minutes' as active,
      exists (select from millrace.operations o where o.status = 'running' and o.rate_per_second > 0) as paced`;

export interface RunState {
  /** Number of the run that registered last. */
  readonly runNo: string;
  /** Whether there was activity in the last ten minutes or a job or a tick is due within one. */
  readonly active: boolean;
  /** Whether a redrive with a rate is running, which requires a round every second. */
  readonly paced: boolean;
}

/** Stores that a round was made, and returns the state that decides whether the loop continues. */
export async function storeRound(db: Database, worked: boolean): Promise<RunState> {
  const { rows } = await db.query<RunState>(STORE_ROUND, [worked]);
  return rows[0] ?? { runNo: '0', active: false, paced: false };
}
