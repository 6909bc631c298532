import type { Database } from '../postgres/database.ts';

/** A message in a dead-letter queue. `jobId`, `claimNo` and `epoch` are null when its body is unreadable. */
export interface FoundMessage {
  readonly messageId: string;
  /** SentTimestamp, milliseconds. */
  readonly sentAt: number;
  readonly jobId: string | null;
  readonly claimNo: string | null;
  readonly epoch: string | null;
  /** The body as text that can be stored. */
  readonly body: string;
}

/** What the mirror does with a message. */
export type MirrorVerdict =
  /** The message belongs to a dead job, and stays in the queue. */
  | 'dead'
  /** The message has no job; the mirror stores its body, and the message stays in the queue. */
  | 'stray'
  /** The job is no longer dead under the claim, or the stray was discarded; the mirror deletes the message. */
  | 'moved_on'
  /** The job was never started; the mirror expires its lease for rescue and deletes the message. */
  | 'released'
  /** The job is running or its row is locked, so a later sweep decides. */
  | 'left';

// The claim determines the meaning of a message, as when a handler receives it, but the mirror never starts a job. Rows
// are locked only before a change, and locked rows are skipped, so the mirror waits for no other transaction. Claim
// numbers only increase, so a message that has moved on in this snapshot stays so.
const RECORD_DEAD = `
  with input as (
    select * from unnest($2::text[], $3::float8[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
      with ordinality as i(message_id, sent_ms, job_id, claim_no, epoch, body, position)
  ), known as (
    select i.*, i.epoch is not distinct from n.epoch as native, l.id is not null as live,
           case when s.is_called then s.last_value else 0 end as last_id,
           l.status, l.claim_no as row_claim_no, l.message_id as recorded,
           l.id is null and exists (select from millrace.jobs_finished f where f.id = i.job_id) as finished,
           exists (select from millrace.dead_letters d
             where d.queue_name = $1 and d.message_id = i.message_id and d.job_id is null and d.status = 'discarded')
             as discarded
      from input i cross join millrace.installation n cross join millrace.job_ids s
      left join millrace.jobs_live l on l.id = i.job_id
  ), judged as materialized (
    select k.*,
           case
             when discarded then 'moved_on'
             when job_id is null or not native then 'stray'
             when not live and (finished or job_id <= last_id) then 'moved_on'
             when not live or coalesce(claim_no > row_claim_no, true) then 'stray'
             when claim_no < row_claim_no or status in ('pending', 'failed') then 'moved_on'
             when status = 'dead_letter' then 'dead'
             when status = 'dispatched' then 'unstarted'
             else 'left'
           end as verdict,
           case
             when job_id is null then 'not a Millrace message'
             when not native then 'a message from another database, or from before a restore'
             when not live then 'names a job that was never enqueued'
             else 'names a claim that was never made'
           end as reason
      from known k
  ), unstarted as materialized (
    select j.id from millrace.jobs_live j
      join judged u on u.job_id = j.id and u.claim_no = j.claim_no and u.verdict = 'unstarted'
      where j.status = 'dispatched'
      order by j.id for update of j skip locked
  ), expired as (
    -- The dispatcher's rescue releases the job and counts the loss, as for a message that never arrived.
    update millrace.jobs_live j set lease_expires_at = millrace.clock() - interval '1 microsecond'
      from unstarted u where j.id = u.id
  ), unrecorded as materialized (
    select j.id, min(u.position) as position from judged u
      join millrace.jobs_live j on j.id = u.job_id and j.claim_no = u.claim_no
      where u.verdict = 'dead' and u.recorded is null group by j.id
  ), adopted as materialized (
    select j.id, u.message_id, u.sent_ms from millrace.jobs_live j
      join unrecorded r on r.id = j.id join judged u on u.position = r.position
      where j.status = 'dead_letter' and j.claim_no = u.claim_no and j.message_id is null
      order by j.id for update of j skip locked
  ), adopting as (
    update millrace.jobs_live j
      set message_id = a.message_id, message_sent_at = to_timestamp(a.sent_ms / 1000.0)
      from adopted a where j.id = a.id
  ), seen as materialized (
    select d.id, u.message_id, u.sent_ms, u.position
      from millrace.dead_letters d
      join judged u on u.job_id = d.job_id and u.claim_no = d.claim_no and u.verdict = 'dead'
      where d.status = 'open'
      order by d.id for update of d skip locked
  ), noted as (
    update millrace.dead_letters d
      set queue_name = $1, message_id = s.message_id, message_sent_at = to_timestamp(s.sent_ms / 1000.0),
          first_seen_at = coalesce(d.first_seen_at, millrace.clock()), last_seen_at = millrace.clock()
      from seen s
      where d.id = s.id and s.position = (select min(o.position) from seen o where o.id = s.id)
  ), strays as materialized (
    select distinct on (u.message_id) u.*, d.id from judged u
      left join millrace.dead_letters d on d.queue_name = $1 and d.message_id = u.message_id and d.job_id is null
      where u.verdict = 'stray' order by u.message_id, u.position
  ), known_strays as materialized (
    select d.id from millrace.dead_letters d
      where d.id = any(array(select id from strays)) and d.status <> 'discarded'
      order by d.id for update skip locked
  ), seen_again as (
    update millrace.dead_letters d
      set last_seen_at = millrace.clock(), status = 'open', resolved_at = null, resolved_by = null, resolution = null
      from known_strays k where d.id = k.id
  ), new_strays as (
    -- Only messages without a row: an insert would wait for a transaction that deletes the row.
    insert into millrace.dead_letters (job_type, routing_key, queue_name, message_id, message_sent_at, raw_body,
        last_error, fingerprint, first_seen_at, last_seen_at)
      select h.job_type, h.routing_key, $1, u.message_id, to_timestamp(u.sent_ms / 1000.0), u.body, u.reason,
             md5(u.reason), millrace.clock(), millrace.clock()
        from strays u left join millrace.handlers h on h.dead_letter_queue_url = $8
        where u.id is null
      on conflict (queue_name, message_id) where job_id is null do nothing
  )
  select case when u.verdict <> 'unstarted' then u.verdict when e.id is null then 'left' else 'released' end as verdict
    from judged u left join unstarted e on e.id = u.job_id
    order by u.position`;

/** Stores messages of one dead-letter queue, and returns a verdict for each, in order. */
export async function recordDead(
  db: Database,
  queue: { readonly url: string; readonly name: string },
  found: readonly FoundMessage[],
): Promise<MirrorVerdict[]> {
  if (found.length === 0) return [];
  const { rows } = await db.keyed.query<{ verdict: MirrorVerdict }>(RECORD_DEAD, [
    queue.name,
    found.map(({ messageId }) => messageId),
    found.map(({ sentAt }) => sentAt),
    found.map(({ jobId }) => jobId),
    found.map(({ claimNo }) => claimNo),
    found.map(({ epoch }) => epoch),
    found.map(({ body }) => body),
    queue.url,
  ]);
  return rows.map(({ verdict }) => verdict);
}
