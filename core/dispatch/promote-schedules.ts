import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import { isStatementError } from '../postgres/statement-errors.ts';
import { enqueueQueued, readQueued } from '../schedules/enqueue-queued.ts';
import {
  type Computed,
  computeTicks,
  type DueSchedule,
  openTimetables,
  postponeSchedule,
  readDueSchedules,
  storeTicks,
} from '../schedules/promote.ts';
import type { Time } from '../time.ts';

interface PromoteDeps {
  readonly db: Database;
  readonly log: Log;
  readonly time: Pick<Time, 'now'>;
}

/** Schedules and ticks of one statement. One schedule alone can have 100 ticks. */
const STEP = 1000;
/** Payloads of one statement, as text: few enough for the memory of a small server. */
const MOST_BYTES = 8_000_000;
/** Schedules whose last try failed that a round reads; each is tried alone. */
const MOST_FAILED = 20;
/** Time from the start of the schedules of a round after which no statement begins. */
const LONGEST_MS = 500;
/** Time from the failure of a batch in which its schedules are tried alone, even if the round has no time left. */
const ALONE_MS = 250;

/**
 * Enqueues a job for each due tick, within the time of a round, and returns the number of jobs. A failure is logged:
 * the next round tries again, and other jobs are dispatched in the meantime.
 * @param queued where this look at queued ticks begins, and then where the next one continues.
 */
export async function promoteSchedules({
  queued,
  ...deps
}: PromoteDeps & { readonly queued: { position: string } }): Promise<number> {
  const end = deps.time.now() + LONGEST_MS;
  const report = (error: unknown) => {
    deps.log.error('schedules_failed', { error });
    return 0;
  };
  const jobs = (await releaseQueued(deps, queued, end).catch(report)) + (await promoteDue(deps, end).catch(report));
  if (jobs > 0) deps.log.info('schedules_enqueued', { jobs });
  return jobs;
}

async function releaseQueued(deps: PromoteDeps, queued: { position: string }, end: number): Promise<number> {
  const read = await readQueued(deps.db, queued.position, { limit: STEP, failed: MOST_FAILED });
  const store = (batch: readonly Piece[]) =>
    enqueueQueued(
      deps.db,
      batch.map(({ schedule }) => schedule),
    );
  const free = read.filter(({ busy }) => !busy).map((one) => ({ ...one, ticks: [one.schedule] }));
  const first = free.filter(({ failed }) => !failed);
  const { jobs, tried } = await storeAll({ ...deps, store, end }, first);
  const looked = read.filter(({ failed }) => !failed);
  const last = tried < first.length ? first[tried - 1] : looked[STEP - 1];
  queued.position = last?.schedule ?? '';
  const others = free.filter(({ failed }) => failed);
  return jobs + (await storeAll({ ...deps, store, end }, others)).jobs;
}

async function promoteDue(deps: PromoteDeps, end: number): Promise<number> {
  const store = async (batch: readonly Due[]) => (await storeTicks(deps.db, batch)).enqueued ?? 0;
  for (let jobs = 0; ; ) {
    const due = await readDueSchedules(deps.db, STEP, MOST_FAILED);
    const first = due.filter(({ failed }) => !failed);
    const computed = compute(deps, first, end);
    jobs += (await storeAll({ ...deps, store, end }, computed)).jobs;
    const isFull = first.length >= STEP || computed.some(({ isCut }) => isCut);
    if (isFull && deps.time.now() < end) continue;
    const others = compute(
      deps,
      due.filter(({ failed }) => failed),
      end,
    );
    return jobs + (await storeAll({ ...deps, store, end }, others)).jobs;
  }
}

/** Computes the ticks of the first schedules, and of more while there is time. The others stay due. */
function compute({ log, time }: PromoteDeps, due: readonly DueSchedule[], end: number): Due[] {
  const timetables = openTimetables();
  const computed: Due[] = [];
  for (const one of due) {
    if (computed.length > 0 && time.now() >= end) break;
    computed.push({ ...computeTicks(one, timetables, MOST_BYTES), failed: one.failed });
  }
  for (const { schedule, fault } of computed) {
    if (fault !== null) log.error('schedule_invalid', { schedule, reason: fault });
  }
  return computed;
}

/** What a round has computed of a schedule. */
type Due = Computed & Pick<DueSchedule, 'failed'>;

/** What one statement stores of a schedule. */
interface Piece {
  readonly schedule: string;
  readonly ticks: readonly string[];
  readonly bytes: number;
  /** Whether the last try failed: it is then tried alone, so that no batch fails for the same reason again. */
  readonly failed: boolean;
}

/** Returns batches of at most `STEP` ticks and `MOST_BYTES`, or of a single schedule. */
function batches<P extends Piece>(pieces: readonly P[]): P[][] {
  const all: P[][] = [];
  let [batch, ticks, bytes]: [P[], number, number] = [[], 0, 0];
  for (const one of pieces) {
    const isFull = ticks + one.ticks.length > STEP || bytes + one.bytes > MOST_BYTES;
    if (batch.length > 0 && (isFull || one.failed)) {
      all.push(batch);
      [batch, ticks, bytes] = [[], 0, 0];
    }
    batch.push(one);
    ticks += one.ticks.length;
    bytes += one.bytes;
  }
  return batch.length > 0 ? [...all, batch] : all;
}

interface StoreDeps<P> extends PromoteDeps {
  /** Stores a batch in one statement, and returns the number of jobs. */
  readonly store: (batch: readonly P[]) => Promise<number>;
  readonly end: number;
}

/** How many jobs were enqueued, and how many of the pieces, from the first on, were tried. */
interface Stored {
  readonly jobs: number;
  readonly tried: number;
}

/** Stores the first batch, and more while there is time. */
async function storeAll<P extends Piece>(deps: StoreDeps<P>, pieces: readonly P[]): Promise<Stored> {
  let [jobs, tried] = [0, 0];
  for (const batch of batches(pieces)) {
    if (tried > 0 && deps.time.now() >= deps.end) break;
    const stored = await storeBatch(deps, batch);
    jobs += stored.jobs;
    tried += stored.tried;
    if (stored.tried < batch.length) break;
  }
  return { jobs, tried };
}

/** Stores a batch; if that fails, one schedule after another, so that one of them does not stop the others. */
async function storeBatch<P extends Piece>(deps: StoreDeps<P>, batch: readonly P[]): Promise<Stored> {
  const { log, time, store, end } = deps;
  if (batch.length === 1) return storeOne(deps, batch);
  try {
    return { jobs: await store(batch), tried: batch.length };
  } catch (error) {
    if (!isStatementError(error)) throw error;
    log.error('schedules_failed', { error });
  }
  const until = Math.max(end, time.now() + ALONE_MS);
  let [jobs, tried] = [0, 0];
  for (const one of batch) {
    if (tried > 0 && time.now() >= until) break;
    jobs += (await storeOne(deps, [one])).jobs;
    tried += 1;
  }
  return { jobs, tried };
}

/** Stores one schedule; if that fails, the others come before it from then on. */
async function storeOne<P extends Piece>({ db, log, store }: StoreDeps<P>, one: readonly P[]): Promise<Stored> {
  try {
    return { jobs: await store(one), tried: 1 };
  } catch (error) {
    if (!isStatementError(error)) throw error;
    const schedule = one[0]?.schedule ?? '';
    log.error('schedule_failed', { schedule, error });
    await postponeSchedule(db, schedule);
    return { jobs: 0, tried: 1 };
  }
}
