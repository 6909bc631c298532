import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import { enqueueQueued } from '../schedules/enqueue-queued.ts';
import {
  type Computed,
  computeTicks,
  type DueSchedule,
  openTimetables,
  readDueSchedules,
  storeTicks,
} from '../schedules/promote.ts';
import type { Time } from '../time.ts';

interface PromoteDeps {
  readonly db: Database;
  readonly log: Log;
  readonly time: Pick<Time, 'now'>;
  /** Where the next look at queued ticks continues. */
  readonly queued: { position: string };
}

/** Schedules and ticks of one statement. One schedule alone can have 100 ticks. */
const STEP = 1000;
/** Payloads of one statement: few enough for the memory of a small server. */
const MOST_BYTES = 8_000_000;
/** Time from the start of the schedules of a round after which no statement begins. */
const LONGEST_MS = 500;

/**
 * Enqueues a job for each due tick, within the time of a round, and returns the number of jobs. A failure is logged:
 * the next round tries again, and other jobs are dispatched in the meantime.
 */
export async function promoteSchedules({ db, log, time, queued }: PromoteDeps): Promise<number> {
  const end = time.now() + LONGEST_MS;
  let jobs = 0;
  try {
    const released = await enqueueQueued(db, queued.position, { schedules: STEP, bytes: MOST_BYTES });
    queued.position = released.position;
    jobs += released.count;
    for (let isFull = true; isFull && time.now() < end; ) {
      const due = await readDueSchedules(db, STEP);
      isFull = due.length === STEP;
      jobs += await promote({ db, log, time }, due, end);
    }
  } catch (error) {
    log.error('schedules_failed', { error });
  }
  if (jobs > 0) log.info('schedules_enqueued', { jobs });
  return jobs;
}

/** Stores the ticks in statements of at most `STEP`. What there is no time for stays due. */
async function promote(deps: Omit<PromoteDeps, 'queued'>, due: readonly DueSchedule[], end: number): Promise<number> {
  const timetables = openTimetables();
  const computed: Computed[] = [];
  for (const one of due) {
    if (computed.length > 0 && deps.time.now() >= end) break;
    computed.push(computeTicks(one, timetables));
  }
  for (const { schedule, fault } of computed) {
    if (fault !== null) deps.log.error('schedule_invalid', { schedule, reason: fault });
  }
  let jobs = 0;
  for (const [index, batch] of batches(computed).entries()) {
    if (index > 0 && deps.time.now() >= end) break;
    jobs += await store(deps, batch, end);
  }
  return jobs;
}

/** Returns batches of at most `STEP` ticks and `MOST_BYTES`, or of a single schedule. */
function batches(computed: readonly Computed[]): Computed[][] {
  const all: Computed[][] = [];
  let [batch, ticks, bytes]: [Computed[], number, number] = [[], 0, 0];
  for (const one of computed) {
    if (batch.length > 0 && (ticks + one.ticks.length > STEP || bytes + one.bytes > MOST_BYTES)) {
      all.push(batch);
      [batch, ticks, bytes] = [[], 0, 0];
    }
    batch.push(one);
    ticks += one.ticks.length;
    bytes += one.bytes;
  }
  return batch.length > 0 ? [...all, batch] : all;
}

/** Stores a batch; if that fails, one schedule after another, so that one of them does not stop the others. */
async function store(deps: Omit<PromoteDeps, 'queued'>, batch: readonly Computed[], end: number): Promise<number> {
  const { db, log, time } = deps;
  try {
    return (await storeTicks(db, batch)).enqueued ?? 0;
  } catch (error) {
    if (batch.length === 1) {
      log.error('schedule_failed', { schedule: batch[0]?.schedule, error });
      return 0;
    }
  }
  let jobs = 0;
  for (const one of batch) {
    if (time.now() >= end) break;
    jobs += await store(deps, [one], end);
  }
  return jobs;
}
