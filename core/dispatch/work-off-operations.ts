import type { Log } from '../log.ts';
import {
  nextOperations,
  postponeOperation,
  type RunningOperation,
  type Stepped,
  stepRunning,
} from '../operations/running-operations.ts';
import type { Database } from '../postgres/database.ts';
import type { Time } from '../time.ts';

interface OperationDeps {
  readonly db: Database;
  readonly log: Log;
  readonly time: Pick<Time, 'now'>;
}

/** Jobs that one statement changes, which bounds its row locks to a quarter of a second. */
export const OPERATION_STEP = 1000;
/** Operations that one round advances. With a rate, one makes up for the five seconds until its next turn. */
const MOST_OPERATIONS = 20;
/** Time from the start of the operations of a round after which no step begins. */
const LONGEST_MS = 500;

/**
 * Advances redrives and other running operations as far as their rates allow, in turn and within the time of a round.
 * Returns the number of jobs changed.
 */
export async function workOffOperations({ db, log, time }: OperationDeps): Promise<number> {
  const begun = time.now();
  const hasTime = () => time.now() - begun < LONGEST_MS;
  let changed = 0;
  for (const before of await nextOperations(db, MOST_OPERATIONS)) {
    if (!hasTime()) break;
    // A failed operation must not delay the others.
    const after = await step(db, before, hasTime).catch(async (error: unknown) => {
      if (before.kind === 'redrive') log.error('redrive_failed', { ...redriveFields(before), error });
      else log.error('operation_failed', { ...operationFields(before), error });
      await postponeOperation(db, before.id);
    });
    if (!after) continue;
    changed += after.done - before.done;
    report(log, before, after);
  }
  return changed;
}

/** Steps of an operation in one round while they find no job to change: each checks thousands of rows. */
const MOST_STEPS = 10;

/** Advances an operation, past jobs that do not match, so that it ends without a delay. */
async function step(
  db: Database,
  { id, done, ratePerSecond }: RunningOperation,
  hasTime: () => boolean,
): Promise<Stepped | undefined> {
  let now = await stepRunning(db, id, OPERATION_STEP);
  for (let steps = 1; steps < MOST_STEPS && now?.status === 'running' && hasTime(); steps += 1) {
    if (ratePerSecond !== null || now.done - done >= OPERATION_STEP) break;
    now = await stepRunning(db, id, OPERATION_STEP);
  }
  return now;
}

function report(log: Log, before: RunningOperation, { status, done, expected, left }: Stepped): void {
  if (before.kind === 'redrive') {
    const fields = redriveFields(before);
    if (status === 'done') log.info('redrive_done', { ...fields, jobs: done, skipped: left });
    else if (done > before.done) log.info('redriven', { ...fields, jobs: done, of: expected ?? 0 });
    return;
  }
  const fields = operationFields(before);
  if (status === 'done') log.info('operation_done', { ...fields, jobs: done, skipped: left });
  else if (done > before.done) log.info('operation_advanced', { ...fields, jobs: done, of: expected ?? undefined });
}

function redriveFields({ id, requestedBy }: RunningOperation) {
  return { redrive_id: id, actor: requestedBy };
}

function operationFields({ id, kind, requestedBy }: RunningOperation) {
  return { operation_id: id, operation: kind, actor: requestedBy };
}
