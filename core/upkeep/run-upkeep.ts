import type { Log } from '../log.ts';
import type { Database, Queryable } from '../postgres/database.ts';
import { advance, type Part, type Step } from '../postgres/step.ts';
import type { Time } from '../time.ts';

/** One part of an upkeep step, and the number of rows, or of daily partitions, that it deleted or counted. */
export interface UpkeepPart extends Part {
  readonly rows: number;
}

/** A step of the upkeep. No part of it may depend on the size of a table. */
export interface UpkeepStep extends Step {
  run(tx: Queryable, position: string | null): Promise<UpkeepPart>;
}

export interface UpkeepDeps {
  readonly db: Database;
  readonly log: Log;
  readonly time: Time;
  /** Names of the steps that failed last, which come after the others; the caller keeps it from run to run. */
  readonly failed?: Set<string>;
}

/**
 * Runs the parts of all steps in turn until each step is at the end of its pass, or until `until`. A step that fails
 * is logged and repeated by the next run, after the others, which its failures must not keep from their turn.
 * @param until time after which no part begins, by `time`.
 * @returns the rows of each step that reached the end of its pass or did a part of it.
 */
export async function runUpkeep(
  { db, log, time, failed = new Set() }: UpkeepDeps,
  steps: readonly UpkeepStep[],
  until: number,
): Promise<Map<string, number>> {
  const done = new Map<string, number>();
  const order = [...failed];
  for (let active = steps.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name)); active.length > 0; ) {
    const unfinished: UpkeepStep[] = [];
    for (const step of active) {
      if (time.now() >= until) return done;
      failed.delete(step.name);
      const part = await advance(db, step, step.run).catch((error: unknown) => {
        log.error('upkeep_failed', { upkeep_step: step.name, error });
        failed.add(step.name);
        return undefined;
      });
      if (part === undefined) continue;
      done.set(step.name, (done.get(step.name) ?? 0) + part.rows);
      if (part.position !== null) unfinished.push(step);
    }
    active = unfinished;
  }
  return done;
}
