import type { Queryable } from '../postgres/database.ts';
import type { Part } from '../postgres/step.ts';

/** A dead job whose message is missing, with the claim number of its new message. */
export interface Carried {
  readonly id: string;
  readonly claimNo: string;
  readonly queueUrl: string;
}

// A message is missing if two complete sweeps did not see it that both began after it must have arrived: later than the
// job's death, its last carrier or a move task, plus the visibility timeout, the longest wait in the queue and five
// minutes. The claim number is drawn while the jobs are locked, so it rises for each.
const CARRY_MISSING = `
  with looked as materialized (
    select d.* from millrace.dead_letters d
      where d.status = 'open' and d.id > coalesce($1::bigint, 0)
        -- A pass begins only after a sweep: nothing else makes a message missing.
        and ($1 is not null or exists (select from millrace.dead_letter_queues s
          where s.swept_at > coalesce((select u.passed_at from millrace.upkeep u where u.step = 'carry'), '-infinity')))
      order by d.id limit $2
  ), missing as materialized (
    select j.id, d.id as dead_letter_id, h.queue_url
      from looked d
      join millrace.handlers h on h.job_type = d.job_type and h.routing_key = d.routing_key
      join millrace.dead_letter_queues q on q.queue_url = h.dead_letter_queue_url
      join millrace.jobs_live j on j.id = d.job_id
      where j.status = 'dead_letter'
        and coalesce(d.last_seen_at, '-infinity') < q.complete_before_at
        and greatest(d.died_at, d.carrier_at, q.moved_at)
          + make_interval(secs => h.visibility_seconds + h.dispatched_lease_seconds + 300) < q.complete_before_at
      order by j.id for update of j skip locked
  ), drawn as (
    insert into millrace.dispatches (claimed_count) select count(*) from missing having count(*) > 0
      returning claim_no
  ), marked as (
    update millrace.dead_letters d
      set claim_no = w.claim_no, carrier_at = millrace.clock(), message_id = null, message_sent_at = null
      from missing m, drawn w where d.id = m.dead_letter_id
  ), carried as (
    update millrace.jobs_live j
      set claim_no = w.claim_no, message_id = null, message_sent_at = null, updated_at = millrace.clock()
      from missing m, drawn w where j.id = m.id
      returning j.id, j.claim_no, m.queue_url
  )
  select (select case when count(*) = $2 then max(id)::text end from looked) as position,
         coalesce((select jsonb_agg(jsonb_build_object('id', id::text, 'claimNo', claim_no::text, 'queueUrl', queue_url)
           order by id) from carried), '[]') as carried`;

export interface CarriedPart extends Part {
  readonly carried: readonly Carried[];
}

/**
 * Checks the next `limit` dead letters, and assigns a new claim number to each dead job without a message; the caller
 * sends the messages.
 */
export async function carryMissing(tx: Queryable, position: string | null, limit: number): Promise<CarriedPart> {
  const { rows } = await tx.query<CarriedPart>(CARRY_MISSING, [position, limit]);
  return rows[0] ?? { position: null, carried: [] };
}
