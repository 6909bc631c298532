import type { Database, Queryable } from './database.ts';

/** Long work that is done in parts, pass after pass. */
export interface Step {
  readonly name: string;
  /** Pause between two passes, in seconds. */
  readonly everySeconds: number;
}

/** One part of a pass. */
export interface Part {
  /** Where the next part continues; null at the end of the pass. */
  readonly position: string | null;
}

const ADD_STEP = `insert into millrace.upkeep (step) values ($1) on conflict do nothing`;
// A pass that ended in the future was made before the clock was set back.
const TAKE_STEP = `
  select position from millrace.upkeep
    where step = $1 and (position is not null or passed_at is null or passed_at > millrace.clock()
      or passed_at <= millrace.clock() - make_interval(secs => $2))
    for update skip locked`;
const STORE_POSITION = `
  update millrace.upkeep
    set position = $2, passed_at = case when $2::text is null then millrace.clock() else passed_at end
    where step = $1`;

/**
 * Runs the next part of a step and stores its position, in one transaction. Returns undefined when another process is
 * running a part of it, or when its next pass is not due.
 */
export async function advance<P extends Part>(
  db: Database,
  { name, everySeconds }: Step,
  work: (tx: Queryable, position: string | null) => Promise<P>,
): Promise<P | undefined> {
  return db.transaction(
    async (tx) => {
      await tx.query(ADD_STEP, [name]);
      const { rows } = await tx.query<{ position: string | null }>(TAKE_STEP, [name, everySeconds]);
      const [taken] = rows;
      if (taken === undefined) return undefined;
      const part = await work(tx, taken.position);
      await tx.query(STORE_POSITION, [name, part.position]);
      return part;
    },
    { keyed: true },
  );
}
