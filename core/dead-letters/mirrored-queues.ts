import type { Database } from '../postgres/database.ts';

/** A dead-letter queue of the registry, and what the mirror stored about it. */
export interface MirroredQueue {
  readonly url: string;
  /** Job type of its handler. */
  readonly jobType: string;
  /** Number of messages that the last sweep left in it. */
  readonly seen: number;
  /** Number of messages at the last count of SQS. */
  readonly depth: number;
  /**
   * Whether it must be swept regardless of its depth: it was never swept, its last sweep is too old, or one of its
   * dead letters was resolved since then.
   */
  readonly due: boolean;
}

// A sweep in the future was made before the clock was set back.
const FIND_MIRRORED_QUEUES = `
  select h.dead_letter_queue_url as url, h.job_type as "jobType", coalesce(q.seen, 0)::integer as seen,
         coalesce(q.depth, 0)::integer as depth,
         coalesce(q.swept_at not between millrace.clock() - make_interval(secs => $1) and millrace.clock(), true)
         or exists (
           select from millrace.dead_letters d
             where d.queue_name = substring(q.queue_url from '[^/]+$') and d.status <> 'open'
               and d.resolved_at >= q.swept_at) as due
    from (select distinct on (dead_letter_queue_url) dead_letter_queue_url, job_type from millrace.handlers
            order by dead_letter_queue_url, job_type) h
    left join millrace.dead_letter_queues q on q.queue_url = h.dead_letter_queue_url
    order by q.swept_at is null desc, q.swept_at > millrace.clock() desc, q.swept_at, url`;

/** Returns all dead-letter queues of the registry, those with the oldest sweep first. */
export async function findMirroredQueues(db: Database, sweepEverySeconds: number): Promise<MirroredQueue[]> {
  const { rows } = await db.query<MirroredQueue>(FIND_MIRRORED_QUEUES, [sweepEverySeconds]);
  return rows;
}

// The statement returns its own time, which precedes every receive of the sweep.
const NOTE_CHECK = `
  insert into millrace.dead_letter_queues as q (queue_url, depth, moved_at)
    values ($1, $2, case when $3 then millrace.clock() else to_timestamp($4::float8 / 1000) end)
    on conflict (queue_url) do update
      set depth = excluded.depth, checked_at = millrace.clock(), moved_at = greatest(q.moved_at, excluded.moved_at)
    returning checked_at as "checkedAt"`;

/**
 * Stores the depth that SQS reports and whether messages were moved out: `moving` now, or by a task begun at `movedAt`.
 * Returns the database's time.
 */
export async function storeCheck(
  db: Database,
  url: string,
  { depth, moving, movedAt }: { depth: number; moving: boolean; movedAt: Date | undefined },
): Promise<Date> {
  const { rows } = await db.query<{ checkedAt: Date }>(NOTE_CHECK, [url, depth, moving, movedAt?.getTime() ?? null]);
  return rows[0]?.checkedAt ?? new Date(0);
}

/** A completed sweep. */
export interface Sweep {
  readonly url: string;
  readonly name: string;
  /** Start of the sweep, by the database's clock. */
  readonly begunAt: Date;
  /** Whether it saw as many messages as SQS counted. */
  readonly complete: boolean;
  /** Number of messages that it left in the queue. */
  readonly left: number;
  readonly retentionSeconds: number;
}

const NOTE_SWEEP = `
  update millrace.dead_letter_queues q
    set swept_at = $2, seen = $4, complete_before_at = case when $3 then q.complete_at else q.complete_before_at end,
        complete_at = case when $3 then $2 else q.complete_at end
    where q.queue_url = $1`;

/** Stores a sweep. */
export async function storeSweep(db: Database, { url, begunAt, complete, left }: Sweep): Promise<void> {
  await db.query(NOTE_SWEEP, [url, begunAt, complete, left]);
}

/** Strays that one statement checks. A queue can have had hundreds of thousands. */
const STRAYS_AT_ONCE = 5000;

// A stray that two complete sweeps did not see is gone: it expired, or a move task or a person removed it.
const CLOSE_GONE_STRAYS = `
  with looked as materialized (
    select d.id, d.last_seen_at < q.complete_before_at as gone,
           case
             when d.message_sent_at + make_interval(secs => $3) < millrace.clock() then 'SQS keeps a message no longer'
             when q.moved_at > d.last_seen_at then 'moved by a move task'
             else 'no longer in the queue: deleted or purged' end as reason
      from millrace.dead_letter_queues q
      join millrace.dead_letters d on d.queue_name = $2 and d.job_id is null and d.status = 'open' and d.id > $4
      where q.queue_url = $1
      order by d.id limit $5
  ), free as materialized (
    select d.id from millrace.dead_letters d
      where d.id = any(array(select id from looked where gone)) and d.status = 'open'
      order by d.id for update of d skip locked
  ), closed as (
    update millrace.dead_letters d
      set status = 'expired', resolved_at = millrace.clock(), resolved_by = millrace.actor(), resolution = l.reason
      from looked l where d.id = any(array(select id from free)) and l.id = d.id
  )
  select case when count(*) = $5 then max(id)::text end as position from looked`;

/**
 * Closes the strays that are no longer in the queue, a batch in each statement, until `hasTime` returns false. What is
 * left is closed after the next sweep, which must not wait for it.
 */
export async function closeGoneStrays(
  db: Database,
  { url, name, retentionSeconds }: Pick<Sweep, 'url' | 'name' | 'retentionSeconds'>,
  hasTime: () => boolean,
): Promise<void> {
  let position: string | null = '0';
  do {
    const values: readonly unknown[] = [url, name, retentionSeconds, position, STRAYS_AT_ONCE];
    const { rows } = await db.keyed.query<{ position: string | null }>(CLOSE_GONE_STRAYS, values);
    position = rows[0]?.position ?? null;
  } while (position !== null && hasTime());
}
