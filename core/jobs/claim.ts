import type { HandlerAddress } from '../handler/naming.ts';
import type { Database } from '../postgres/database.ts';
import { systemTime } from '../time.ts';
import { type ClaimFloors, openFloors } from './claim-floors.ts';

/** A job that this dispatch has claimed and must send. */
export interface ClaimedJob extends HandlerAddress {
  readonly id: string;
  readonly claimNo: string;
  readonly queueUrl: string;
  /** Consecutive dispatches before this one in which SQS refused messages for the queue. */
  readonly refusals: number;
  readonly groupKey: string | null;
  /** The epoch of the database, which can be renewed at any time. */
  readonly epoch: string;
}

// Concurrent dispatchers exceed a limit that one statement both reads and uses: 150 jobs were in flight with a
// limit of 100. So this statement locks the handlers, and the second one counts their jobs in a fresh snapshot.
const LOCK_OPEN_HANDLERS = `
  select job_type as "jobType", routing_key as "routingKey"
    from millrace.handlers
    where paused_at is null and (held_until is null or held_until <= millrace.clock())
    order by job_type, routing_key
    for update skip locked`;

// One claim in ten ignores priority ($7), so that a stream of urgent jobs leaves a tenth of the claims to other jobs of
// the handler. The claim is chosen at random, because a counter of claims can fall into step with the claims of one
// handler. The statement scans one index range for each handler and priority, so it reads neither paused handlers nor
// jobs due later. It draws the claim number after the locks: otherwise a lower number could commit after a higher one.
// It finds rows again by arrays, because Postgres plans a join for a thousand rows and reads a table of 100,000 whole;
// `is true` hides their due time from the index of due jobs, which Postgres would read whole with statistics of a quiet
// moment. $4 to $6 are floors: while an old transaction keeps vacuum from removing claimed rows, each index scan would
// begin with all of them.
const CLAIM_DUE_JOBS = `
  with turn as materialized (
    select $7::boolean as by_age
  ), open as materialized (
    select h.job_type, h.routing_key, h.queue_url, h.dispatched_lease_seconds, h.max_in_flight,
           h.max_in_flight_floor, h.max_in_flight_cap, h.refusals, o.ord, f.in_flight, f.first_claim
      from unnest($1::text[], $2::text[], $4::bigint[]) with ordinality as o(job_type, routing_key, claim_floor, ord)
      join millrace.handlers h using (job_type, routing_key)
      left join millrace.handler_starts s using (job_type, routing_key)
      cross join lateral (
        select count(*)::integer as in_flight, min(j.claim_no) as first_claim from millrace.jobs_live j
          where j.job_type = h.job_type and j.routing_key = h.routing_key and j.in_flight
            and j.claim_no >= greatest(o.claim_floor, s.lowest_claim)
      ) f
  ), candidates as materialized (
    select c.id, c.rank, c.due_at, o.job_type, o.routing_key,
           row_number() over (partition by o.job_type, o.routing_key order by c.rank, c.due_at, c.id) as place,
           o.max_in_flight - o.in_flight as room
      from open o
      cross join generate_series(0, 9) as p(priority)
      cross join lateral (select o.ord * 10 - 9 + p.priority as place) f
      cross join lateral (
        select j.id, case when t.by_age then 0 else j.priority end as rank, j.due_at from millrace.jobs_live j, turn t
          where j.job_type = o.job_type and j.routing_key = o.routing_key and j.priority = p.priority::smallint
            and j.due_at is not null and j.due_at <= millrace.clock()
            and (j.due_at, j.id) > (($5::timestamptz[])[f.place], ($6::bigint[])[f.place])
          order by j.due_at, j.id
          limit least(greatest(o.max_in_flight - o.in_flight, 0), $3::integer)
      ) c
      where o.max_in_flight > o.in_flight
  ), picked as materialized (
    select id, rank, due_at from candidates where place <= room order by rank, due_at, id limit $3::integer
  ), free as materialized (
    select j.id, case when (select by_age from turn) then 0 else j.priority end as rank, j.due_at
      from millrace.jobs_live j
      where j.id = any(array(select id from picked)) and (j.due_at <= millrace.clock()) is true
      order by j.id
      for update of j skip locked
  ), beyond as materialized (
    -- Other transactions have locked some of these rows. Without this second scan, behind them, their handlers would
    -- wait for those locks. It locks up to the room of each handler, which is expensive, so it runs only then.
    select c.id, case when (select by_age from turn) then 0 else c.priority end as rank, c.due_at from open o
      cross join lateral (
        select j.id, j.priority, j.due_at from generate_series(0, 9) as p(priority)
          cross join lateral (
            select k.id, k.priority, k.due_at from millrace.jobs_live k
              where k.job_type = o.job_type and k.routing_key = o.routing_key and k.priority = p.priority::smallint
                and k.due_at is not null and k.due_at <= millrace.clock()
              order by k.due_at, k.id
              limit least(greatest(o.max_in_flight - o.in_flight, 0), $3::integer)
              for update of k skip locked
          ) j
          limit least(greatest(o.max_in_flight - o.in_flight, 0), $3::integer)
      ) c
      where o.max_in_flight > o.in_flight and (select count(*) from free) < (select count(*) from picked)
  ), locked as materialized (
    select id, rank, due_at from (
      select * from free where (select count(*) from free) = (select count(*) from picked)
      union all select * from beyond) l
      order by rank, due_at, id limit $3::integer
  ), kept as materialized (
    select millrace.end_keys_of_locked_jobs(array(select id from picked except select id from free))
      where (select count(*) from free) < (select count(*) from picked)
  ), dispatch as (
    insert into millrace.dispatches (claimed_count)
      -- The condition is evaluated first, also if nothing is left to claim.
      select count(*) from locked where (select count(*) from kept) >= 0 having count(*) > 0
      returning claim_no
  ), claimed as (
    update millrace.jobs_live j
      set status = 'dispatched', claim_no = d.claim_no, dispatched_at = millrace.clock(), updated_at = millrace.clock(),
          lease_expires_at = millrace.clock() + make_interval(secs => o.dispatched_lease_seconds),
          hold_until = null, message_id = null, message_sent_at = null, request_id = null
      from dispatch d, open o
      where j.id = any(array(select id from locked)) and o.job_type = j.job_type and o.routing_key = j.routing_key
      returning j.id, j.claim_no, j.job_type, j.routing_key, o.queue_url, o.refusals, j.group_key, j.priority,
                o.first_claim
  ), adapted as (
    -- Doubles the limit of a drained handler with enough due jobs. Lowers it slowly to the floor while the handler does
    -- not drain or has fewer due jobs than room; otherwise a burst would raise it permanently.
    update millrace.handlers h
      set max_in_flight = t.next
      from (
        select job_type, routing_key, o.max_in_flight,
               case when t.taken >= least(o.max_in_flight - o.in_flight, $3::integer)
                      and o.in_flight <= o.max_in_flight / 10
                      then least(o.max_in_flight_cap, o.max_in_flight * 2)
                    when o.in_flight > o.max_in_flight / 2
                      or t.taken < o.max_in_flight - o.in_flight and (select count(*) from claimed) < $3::integer
                      then greatest(o.max_in_flight_floor, o.max_in_flight - 1 - o.max_in_flight / 50)
                    else o.max_in_flight end as next
          from open o
          join (select job_type, routing_key, count(*) as taken from claimed group by job_type, routing_key) t
            using (job_type, routing_key)
      ) t
      where h.job_type = t.job_type and h.routing_key = t.routing_key and t.next <> t.max_in_flight
  )
  select job_type as "jobType", routing_key as "routingKey", priority, min(queue_url) as "queueUrl",
         min(refusals) as refusals, min(claim_no) as "claimNo", (select epoch from millrace.installation) as epoch,
         string_agg(id::text, ',' order by due_at, id) as ids,
         case when count(group_key) > 0 then array_agg(group_key order by due_at, id) end as "groupKeys",
         coalesce(min(first_claim), min(claim_no)) as "firstClaim",
         least(max(due_at), millrace.clock() - interval '2 seconds')::text as "floorAt",
         max(due_at) < millrace.clock() - interval '2 seconds' as "isSettled"
    from claimed join locked using (id) group by job_type, routing_key, priority order by priority`;

/** The claimed jobs of a handler with one priority, in order of due time and id: a row for each job would cost more. */
interface ClaimedGroup extends Omit<ClaimedJob, 'id' | 'groupKey'> {
  readonly priority: number;
  /** With commas between them. */
  readonly ids: string;
  /** Null if no job has one. */
  readonly groupKeys: readonly (string | null)[] | null;
  readonly firstClaim: string;
  readonly floorAt: string;
  /** Whether no slow transaction can still commit a job that became due before the last of them. */
  readonly isSettled: boolean;
}

/** Share of the claims that ignore priority. */
const SHARE_BY_AGE = 0.1;

export interface ClaimOptions {
  /** The floors of this dispatcher's earlier claims, which the claim raises. */
  readonly floors?: ClaimFloors | undefined;
  /** Returns a number in [0, 1) that decides whether the claim ignores priority. Default: it does not. */
  readonly random?: (() => number) | undefined;
}

/**
 * A dispatcher that vanishes keeps its locks on handlers, which block all other dispatchers, for at most ten seconds.
 */
const LIMITS = { statementMs: 5000, idleMs: 5000 };

/**
 * Claims up to `limit` due jobs of all open handlers, none above its `max_in_flight`: the first by priority, due time
 * and id, or in one claim of ten by due time and id. All get one new claim number, and the caller must send them, those
 * of a handler in this order.
 */
export async function claim(
  db: Database,
  limit: number,
  { floors = openFloors(systemTime), random = () => 1 }: ClaimOptions = {},
): Promise<ClaimedJob[]> {
  const isByAge = random() < SHARE_BY_AGE;
  floors.begin();
  const groups = await db.transaction(async (tx) => {
    const { rows: open } = await tx.query<HandlerAddress>(LOCK_OPEN_HANDLERS);
    if (open.length === 0) return [];
    const types = open.map(({ jobType }) => jobType);
    const keys = open.map(({ routingKey }) => routingKey);
    const { claimNos, dueTimes, ids } = floors.read(open);
    const values = [types, keys, limit, claimNos, dueTimes, ids, isByAge];
    return (await tx.query<ClaimedGroup>(CLAIM_DUE_JOBS, values)).rows;
  }, LIMITS);
  const claimed = groups.map((group) => ({ ...group, ids: group.ids.split(',') }));
  floors.end(claimed.map((group) => ({ ...group, floorId: (group.isSettled && group.ids.at(-1)) || '0' })));
  return claimed.flatMap(jobsOf);
}

function jobsOf({ ids, groupKeys, ...group }: Omit<ClaimedGroup, 'ids'> & { readonly ids: readonly string[] }) {
  const { jobType, routingKey, claimNo, queueUrl, refusals, epoch } = group;
  return ids.map((id, index): ClaimedJob => {
    return { id, claimNo, jobType, routingKey, queueUrl, refusals, groupKey: groupKeys?.[index] ?? null, epoch };
  });
}
