import type { Queryable } from '../postgres/database.ts';

/** What dispatchers did since it was noted last. */
export interface Rounds {
  /** Of each round that went well, seconds. */
  readonly seconds: readonly number[];
  readonly failed: number;
  /** Messages sent, by the name of the queue. */
  readonly sent: ReadonlyMap<string, number>;
  /** Jobs that were not sent, by reason. */
  readonly errors: ReadonlyMap<string, number>;
}

const NOTE_ROUNDS = `
  with buckets as (
    select array_agg(old.count + coalesce(new.count, 0) order by old.place) as counts
      from millrace.dispatcher_runs r, unnest(r.round_buckets) with ordinality as old(count, place)
      left join (select width_bucket(s, millrace.timing_bounds()) + 1 as place, count(*) as count
                   from unnest($1::float8[]) as s group by 1) new using (place)
  ), totals as (
    insert into millrace.dispatch_totals as t (measure, label, count)
      select n.measure, n.label, n.count from unnest($3::text[], $4::text[], $5::bigint[]) as n(measure, label, count)
        order by n.measure, n.label
      on conflict (measure, label) do update set count = t.count + excluded.count
  )
  update millrace.dispatcher_runs r
    set round_buckets = b.counts, round_seconds = r.round_seconds + (select coalesce(sum(s), 0) from unnest($1) as s),
        failed_rounds = r.failed_rounds + $2
    from buckets b`;

/** Adds to the dispatcher's numbers. Two at once may lose a few: these are not what is billed. */
export async function noteRounds(db: Queryable, { seconds, failed, sent, errors }: Rounds): Promise<void> {
  const totals = [
    ...[...sent].map(([label, count]) => ({ measure: 'sent', label, count })),
    ...[...errors].map(([label, count]) => ({ measure: 'error', label, count })),
  ];
  await db.query(NOTE_ROUNDS, [
    seconds,
    failed,
    totals.map(({ measure }) => measure),
    totals.map(({ label }) => label),
    totals.map(({ count }) => count),
  ]);
}
