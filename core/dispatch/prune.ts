import type { Database } from '../postgres/database.ts';

const PRUNE_SLOT = `select millrace.prune_slot($1::smallint, make_interval(secs => $2)) as pruned`;
const SLOTS = 32;

/** Empties the daily partitions of finished jobs that are older than the retention, and returns how many. */
export async function pruneFinished(db: Database, retentionSeconds: number): Promise<number> {
  let pruned = 0;
  for (let slot = 1; slot <= SLOTS; slot++) {
    const { rows } = await db.query<{ pruned: boolean }>(PRUNE_SLOT, [slot, retentionSeconds]);
    if (rows[0]?.pruned) pruned++;
  }
  return pruned;
}

// Small batches, one statement each, so that readers never wait and a killed run loses no work.
const PRUNE_ATTEMPTS = `
  delete from millrace.job_attempts a where a.id in (
    select b.id from millrace.job_attempts b
      where b.finished_at < millrace.clock() - make_interval(secs => $1)
        and (b.finished_at < millrace.clock() - interval '90 days'
          or not exists (select from millrace.jobs_live j where j.id = b.job_id))
      order by b.finished_at limit $2)`;
const PRUNE_DISPATCHES = `
  delete from millrace.dispatches d where d.claim_no in (
    select e.claim_no from millrace.dispatches e
      where e.claimed_at < millrace.clock() - interval '1 day' and (e.sent_at is not null or e.released_at is not null)
      order by e.claim_no limit $1)`;
const PRUNE_DEAD_LETTERS = `
  delete from millrace.dead_letters d where d.id in (
    select e.id from millrace.dead_letters e
      where e.status <> 'open' and e.resolved_at < millrace.clock() - interval '90 days' order by e.id limit $1)`;
const PRUNE_AUDIT = `
  delete from millrace.audit_log l where l.id in (
    select m.id from millrace.audit_log m where m.at < millrace.clock() - interval '400 days' order by m.id limit $1)`;
const PRUNE_IDEMPOTENCY_KEYS = `
  delete from millrace.idempotency_keys k where (k.caller, k.key) in (
    select l.caller, l.key from millrace.idempotency_keys l
      where l.created_at < millrace.clock() - interval '24 hours' limit $1)`;
const PRUNE_OPERATIONS = `
  delete from millrace.operations o where o.id in (
    select p.id from millrace.operations p
      where p.status <> 'running' and coalesce(p.finished_at, p.updated_at) < millrace.clock() - interval '90 days'
      order by p.id limit $1)`;
const PRUNE_SCHEDULE_TICKS = `
  delete from millrace.schedule_ticks t where (t.schedule, t.tick_at) in (
    select u.schedule, u.tick_at from millrace.schedule_ticks u
      where u.created_at < millrace.clock() - interval '90 days' limit $1)`;
const PRUNE_EVENT_MINUTES = `
  delete from millrace.job_event_minutes m where m.ctid = any(array(
    select n.ctid from millrace.job_event_minutes n where n.minute < millrace.clock() - interval '2 hours' limit $1))`;
/** Statements whose tables have retentions of their own. Their only parameter is the batch size. */
const PRUNE_OTHERS = [
  PRUNE_DISPATCHES,
  PRUNE_DEAD_LETTERS,
  PRUNE_AUDIT,
  PRUNE_IDEMPOTENCY_KEYS,
  PRUNE_OPERATIONS,
  PRUNE_SCHEDULE_TICKS,
  PRUNE_EVENT_MINUTES,
];
const BATCH = 5000;

export interface PrunedHistory {
  readonly rows: number;
  /** Whether a batch was full, so that more rows may be left. */
  readonly more: boolean;
}

/** Deletes history past its retention, one batch of each kind. */
export async function pruneHistory(db: Database, retentionSeconds: number): Promise<PrunedHistory> {
  const { rowCount: attempts } = await db.query(PRUNE_ATTEMPTS, [retentionSeconds, BATCH]);
  const counts = [attempts];
  for (const prune of PRUNE_OTHERS) counts.push((await db.query(prune, [BATCH])).rowCount);
  return { rows: counts.reduce((sum, count) => sum + count, 0), more: counts.some((count) => count >= BATCH) };
}
