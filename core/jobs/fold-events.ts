import type { Database } from '../database.ts';

// Each row is deleted once, in the transaction that adds it: a reader of totals plus rows sees it once in any snapshot.
const FOLD_EVENTS = `
  with folded as (
    delete from millrace.job_events where ctid = any(array(select ctid from millrace.job_events limit $1))
      returning event, job_type, status, count
  ), sums as (
    select event, job_type, status, sum(count) as count from folded
      group by event, job_type, status order by event, job_type, status
  )
  insert into millrace.job_event_totals as t (event, job_type, status, count)
    select event, job_type, status, count from sums
    on conflict (event, job_type, status) do update set count = t.count + excluded.count`;

/** Adds the counters' rows to their totals. */
export async function foldEvents(db: Database): Promise<void> {
  await db.query(FOLD_EVENTS, [20_000]);
}
