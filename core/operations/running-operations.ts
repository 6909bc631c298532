import type { Queryable } from '../postgres/database.ts';
import type { Operation } from './operation.ts';

/** An operation that the dispatcher advances, without its filter: the dispatcher must survive any of them. */
export type RunningOperation = Pick<Operation, 'id' | 'kind' | 'ratePerSecond' | 'done' | 'requestedBy'>;

// A step in the future was made before the clock was set back. An operation that an unfinished transaction is
// cancelling is left out: it would keep its turn.
const NEXT_OPERATIONS = `
  select id, kind, rate_per_second as "ratePerSecond", done_count::integer as done, requested_by as "requestedBy"
    from millrace.operations where status = 'running'
    order by updated_at > millrace.clock() desc, updated_at, id limit $1
    for update skip locked`;

/** Returns up to `most` running operations, first those whose last step is the oldest. */
export async function nextOperations(db: Queryable, most: number): Promise<RunningOperation[]> {
  return (await db.query<RunningOperation>(NEXT_OPERATIONS, [most])).rows;
}

/** The state of an operation after a step. */
export interface Stepped extends Pick<Operation, 'status' | 'done' | 'expected'> {
  /** Number of matching jobs that were not changed. */
  readonly left: number;
}

const STEP_RUNNING = `
  select status, done_count::integer as done, expected_count::integer as expected,
         (skipped_count
           + (select coalesce(sum(c.value::bigint), 0) from jsonb_each_text(left_counts) c))::integer as left
    from millrace.step_operation($1, $2)`;

/** Changes up to `most` jobs within the rate; undefined if no operation has this id. */
export async function stepRunning(db: Queryable, id: string, most: number): Promise<Stepped | undefined> {
  return (await db.query<Stepped>(STEP_RUNNING, [id, most])).rows[0];
}

const POSTPONE_OPERATION = `update millrace.operations set updated_at = millrace.clock() where id = $1`;

/** Puts an operation whose step failed behind the others. */
export async function postponeOperation(db: Queryable, id: string): Promise<void> {
  await db.query(POSTPONE_OPERATION, [id]);
}
