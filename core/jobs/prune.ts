import type { Database } from '../database.ts';

const PRUNE_SLOT = `select millrace.prune_slot($1::smallint, make_interval(secs => $2)) as pruned`;
const SLOTS = 32;

/** Empties the days of the ring that are older than the retention, and answers how many. */
export async function pruneFinished(db: Database, retentionSeconds: number): Promise<number> {
  let pruned = 0;
  for (let slot = 1; slot <= SLOTS; slot++) {
    const { rows } = await db.query<{ pruned: boolean }>(PRUNE_SLOT, [slot, retentionSeconds]);
    if (rows[0]?.pruned) pruned++;
  }
  return pruned;
}

// Small batches, each its own statement, so that no reader waits and a killed run loses nothing.
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
  delete from millrace.idempotency_keys where created_at < millrace.clock() - interval '24 hours'`;
const BATCH = 5000;

export interface PrunedHistory {
  readonly rows: number;
  /** A batch was full, so there is more to drop. */
  readonly more: boolean;
}

/** Drops history past its retention, one batch of each kind. */
export async function pruneHistory(db: Database, retentionSeconds: number): Promise<PrunedHistory> {
  const results = [
    await db.query(PRUNE_ATTEMPTS, [retentionSeconds, BATCH]),
    await db.query(PRUNE_DISPATCHES, [BATCH]),
    await db.query(PRUNE_DEAD_LETTERS, [BATCH]),
    await db.query(PRUNE_AUDIT, [BATCH]),
    await db.query(PRUNE_IDEMPOTENCY_KEYS),
  ];
  const counts = results.map(({ rowCount }) => rowCount);
  return { rows: counts.reduce((sum, count) => sum + count, 0), more: counts.some((count) => count >= BATCH) };
}
