import type { Database } from '../postgres/database.ts';

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
  with missing as materialized (
    select j.id, d.id as dead_letter_id, h.queue_url
      from millrace.dead_letters d
      join millrace.handlers h on h.job_type = d.job_type and h.routing_key = d.routing_key
      join millrace.dead_letter_queues q on q.queue_url = h.dead_letter_queue_url
      join millrace.jobs_live j on j.id = d.job_id
      where d.status = 'open' and j.status = 'dead_letter'
        and coalesce(d.last_seen_at, '-infinity') < q.complete_before_at
        and greatest(d.died_at, d.carrier_at, q.moved_at)
          + make_interval(secs => h.visibility_seconds + h.dispatched_lease_seconds + 300) < q.complete_before_at
      order by j.id limit $1
      for update of j skip locked
  ), drawn as (
    insert into millrace.dispatches (claimed_count) select count(*) from missing having count(*) > 0
      returning claim_no
  ), marked as (
    update millrace.dead_letters d
      set claim_no = w.claim_no, carrier_at = millrace.clock(), message_id = null, message_sent_at = null
      from missing m, drawn w where d.id = m.dead_letter_id
  )
  update millrace.jobs_live j
    set claim_no = w.claim_no, message_id = null, message_sent_at = null, updated_at = millrace.clock()
    from missing m, drawn w where j.id = m.id
    returning j.id, j.claim_no as "claimNo", m.queue_url as "queueUrl"`;

/** Assigns a new claim number to up to `limit` dead jobs without a message; the caller sends the messages. */
export async function carryMissing(db: Database, limit: number): Promise<Carried[]> {
  const { rows } = await db.query<Carried>(CARRY_MISSING, [limit]);
  return rows;
}
