import { queueNameOf } from '../handler/naming.ts';
import type { Queryable } from '../postgres/database.ts';

/** The metrics of a dispatcher's rounds since it last stored them. */
export interface Rounds {
  /** Duration of each successful round, in seconds. */
  seconds: number[];
  failed: number;
  /** Attempts that rescue ended. */
  lost: number;
  /** Messages sent, by queue name. */
  sent: Map<string, number>;
  /** Jobs that were not sent, by reason. */
  errors: Map<string, number>;
}

export function openRounds(): Rounds {
  return { seconds: [], failed: 0, lost: 0, sent: new Map(), errors: new Map() };
}

/** Counts the messages for one queue that were sent, and the others by reason. */
export function countSends({ sent, errors }: Rounds, queueUrl: string, verdicts: readonly { kind: string }[]): void {
  for (const { kind } of verdicts) {
    if (kind === 'sent') add(sent, queueNameOf(queueUrl));
    else add(errors, kind);
  }
}

function add(counts: Map<string, number>, label: string): void {
  counts.set(label, (counts.get(label) ?? 0) + 1);
}

const ADD_ROUNDS = `
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

/**
 * Adds the rounds to the totals in the database and resets them; if that fails, the next call stores them. Concurrent
 * dispatchers may lose a few, which affects only metrics.
 */
export async function storeRounds(db: Queryable, rounds: Rounds): Promise<void> {
  const { seconds, failed, sent, errors } = rounds;
  const totals = [
    ...[...sent].map(([label, count]) => ({ measure: 'sent', label, count })),
    ...[...errors].map(([label, count]) => ({ measure: 'error', label, count })),
  ];
  await db.query(ADD_ROUNDS, [
    seconds,
    failed,
    totals.map(({ measure }) => measure),
    totals.map(({ label }) => label),
    totals.map(({ count }) => count),
  ]);
  Object.assign(rounds, openRounds());
}
