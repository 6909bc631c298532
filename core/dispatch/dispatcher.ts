import type { Dispatched } from '../aws/functions.ts';
import type { Queues } from '../aws/queues.ts';
import { advanceJoins } from '../jobs/advance-joins.ts';
import { type ClaimFloors, openFloors } from '../jobs/claim-floors.ts';
import { releaseUnconfirmed } from '../jobs/release.ts';
import { skipLate } from '../jobs/skip-late.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../numbers/emf.ts';
import type { Database } from '../postgres/database.ts';
import { rescue } from '../run/rescue-lost.ts';
import type { Time } from '../time.ts';
import { CLAIM_LIMIT } from './claim-settings.ts';
import { type DispatchDeps, dispatch } from './dispatch.ts';
import { type Places, readFloors, registerRun, storeFloors, storeRound } from './dispatcher-run.ts';
import { type DrainLimits, drainDue } from './drain-due.ts';
import { openLongestWaits, type ReadLongestWaits } from './longest-waits.ts';
import { type MaintainDeps, maintain } from './maintain.ts';
import { promoteSchedules } from './promote-schedules.ts';
import { openRarely } from './rarely.ts';
import { openRounds, type Rounds, storeRounds } from './rounds.ts';
import { workOffOperations } from './work-off-operations.ts';

export type DispatchMode =
  /** Runs rounds while there is activity. */
  | 'auto'
  /** Runs rounds until the window ends. */
  | 'loop'
  /** Runs one round, or rounds until the end of a redrive with a rate. */
  | 'tick';

export interface DispatcherDeps {
  readonly db: Database;
  readonly queues: Queues;
  readonly log: Log;
  readonly time: Time;
  readonly random: () => number;
  readonly metrics?: Metrics;
  /** How many jobs a claim takes, at most. Default: 1000. */
  readonly claimLimit?: number;
  /** Reads what waits longest; a process keeps it from run to run. */
  readonly waits?: ReadLongestWaits;
}

export interface DispatcherSettings {
  readonly mode: DispatchMode;
  /** Pause between two rounds, in milliseconds. */
  readonly pollIntervalMs: number;
  /** Duration of one run, in milliseconds: longer than the 119 s that can separate two ticks. */
  readonly windowMs: number;
}

const UNCONFIRMED_AFTER_SECONDS = 60;
const MAINTAIN_EVERY_MS = 10_000;
/** Limits of the drain of one round, so that rescue runs regularly even when every call to SQS times out. */
const MOST_CLAIMS_A_ROUND = 20;
const LONGEST_DRAIN_MS = 10_000;
const AGAIN_AFTER_MS = 1000;
/** Longest pause between two rounds while rounds fail. */
const LONGEST_PAUSE_MS = 10_000;

/** The state that one run keeps from round to round. */
interface Run extends DispatchDeps, MaintainDeps, Places {
  readonly random: () => number;
  readonly rounds: Rounds;
  readonly floors: ClaimFloors;
  readonly late: ReturnType<typeof openRarely>;
  maintainedAt: number;
}

/**
 * Runs rounds of the dispatcher until the window ends, a newer run has registered, or nothing is left to do. A
 * failed round is repeated, so that a short outage of the database does not delay jobs until the next tick.
 * @throws the last error when the window ends before the run could register.
 */
export async function runDispatcher(deps: DispatcherDeps, settings: DispatcherSettings): Promise<void> {
  const end = deps.time.now() + settings.windowMs;
  let registered: Registered | undefined;
  for (let pause = settings.pollIntervalMs; ; ) {
    try {
      registered ??= { run: await openRun(deps), runNo: await registerRun(deps.db) };
      if (await isDone(deps, settings, registered)) return;
      pause = settings.pollIntervalMs;
    } catch (error) {
      deps.log.error('round_failed', { error });
      if (registered) registered.run.rounds.failed += 1;
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      if (registered === undefined && deps.time.now() + pause >= end) throw error;
    }
    if (deps.time.now() + pause >= end) return registered && leave(registered.run);
    await deps.time.sleep(pause);
  }
}

interface Registered {
  readonly run: Run;
  readonly runNo: string;
}

/** Runs a round, and returns whether it was the last of this run. */
async function isDone(
  deps: DispatcherDeps,
  { mode }: DispatcherSettings,
  { run, runNo }: Registered,
): Promise<boolean> {
  const { worked } = await round(deps, run);
  await keepUp(deps, run);
  const { runNo: latest, active, paced } = await storeRound(deps.db, worked);
  const done = latest !== runNo || (mode === 'tick' && !paced) || (mode === 'auto' && !active);
  if (done) await storeMetrics(run);
  return done;
}

export interface Nudge {
  /** Whether to run another round a second later. */
  readonly again?: boolean | undefined;
  /** The largest number of jobs to claim; without it, the round claims until no job is due. */
  readonly limit?: number | undefined;
}

/**
 * Runs one round outside any run, for a nudge. It does no upkeep: otherwise a nudge for each job would repeat the
 * upkeep. `again` adds a round a second later, for the jobs of callers that nudge at most once a second.
 */
export async function runOnce(deps: DispatcherDeps, { again = false, limit }: Nudge = {}): Promise<Dispatched> {
  const run = await openRun(deps);
  const { dispatched: first } = await round(deps, run, limit);
  if (again) await deps.time.sleep(AGAIN_AFTER_MS);
  const { dispatched: second } = again ? await round(deps, run) : { dispatched: { claimed: 0, sent: 0 } };
  await storeMetrics(run);
  return { claimed: first.claimed + second.claimed, sent: first.sent + second.sent };
}

async function openRun(deps: DispatcherDeps): Promise<Run> {
  const { db, queues, log, random, metrics, waits = openLongestWaits(deps.time) } = deps;
  const { floors, queued, joins } = await readFloors(db);
  return {
    ...{ db, queues, log, random, waits, ...(metrics && { metrics }) },
    rounds: openRounds(),
    ...{ queued, joins },
    late: openRarely(deps.time),
    unhandled: openRarely(deps.time),
    reported: new Set(),
    floors: openFloors(deps.time, floors),
    maintainedAt: Number.NEGATIVE_INFINITY,
  };
}

/** Runs a round. Rescue, redrives and schedules come first, so that the same round dispatches what they make due. */
async function round(
  deps: DispatcherDeps,
  run: Run,
  limit?: number,
): Promise<{ worked: boolean; dispatched: Dispatched }> {
  const begun = deps.time.now();
  const rescued = await rescue(run);
  const unconfirmed = await releaseUnconfirmed(run.db, UNCONFIRMED_AFTER_SECONDS);
  run.rounds.lost += rescued.attempts;
  if (rescued.attempts + rescued.releases + unconfirmed > 0) run.log.warn('rescued', { ...rescued, unconfirmed });
  const redriven = await workOffOperations({ ...run, time: deps.time });
  const scheduled = await promoteSchedules({ ...run, time: deps.time });
  const continued = await advanceJoins({ ...run, time: deps.time }, run.joins);
  await run.late(() => skipLate({ ...run, time: deps.time }));
  const dispatched = limit === undefined ? await drainDue(run, limitsOf(deps)) : await dispatch(run, limit);
  run.rounds.seconds.push((deps.time.now() - begun) / 1000);
  return { worked: dispatched.sent + redriven + scheduled + continued + rescued.attempts > 0, dispatched };
}

/** Does the upkeep, whose failure must not stop the dispatch of jobs. */
async function keepUp({ time }: DispatcherDeps, run: Run): Promise<void> {
  if (time.now() - run.maintainedAt < MAINTAIN_EVERY_MS) return;
  await storeMetrics(run);
  await storeFloors(run.db, run.floors.save(), run);
  await maintain(run);
  run.maintainedAt = time.now();
}

async function storeMetrics({ db, metrics, rounds }: Run): Promise<void> {
  const errors = [...rounds.errors.values()].reduce((sum, count) => sum + count, 0);
  const { lost } = rounds;
  await storeRounds(db, rounds);
  metrics?.put({ DispatchErrors: errors, ...(lost > 0 && { LostAttempts: lost }) });
}

/** Stores the metrics since the last upkeep at the end of a run; a failure is only logged. */
async function leave(run: Run): Promise<void> {
  await storeMetrics(run).catch((error: unknown) => run.log.error('round_failed', { error }));
}

function limitsOf({ time, claimLimit = CLAIM_LIMIT }: DispatcherDeps): DrainLimits {
  const begun = time.now();
  return { claimLimit, goesOn: (claims) => claims < MOST_CLAIMS_A_ROUND && time.now() - begun < LONGEST_DRAIN_MS };
}
