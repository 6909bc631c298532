import { type AttemptDeps, runAttempt } from './attempt/run-attempt.ts';
import { runTogether, type TogetherDeps } from './attempt/run-together.ts';
import { type BatchDeps, fits, type Invocation } from './batch.ts';
import type { OpenJob } from './end-early.ts';
import { logStart } from './log-fields.ts';
import { owned, type UncaughtError } from './uncaught-errors.ts';

/** Characters of payloads of which the values exist at once: they can take thirty times as much memory. */
const MOST_PAYLOAD_TEXT = 2_097_152;

/** What the runs of jobs share with the rest of their batch. */
export interface TurnRun {
  readonly invocation: Invocation;
  /** Whether a handler still runs after its timeout; set even when a later step fails. */
  overstayed: boolean;
  /** The first error that no code awaited or caught: no job continues after it. */
  uncaught: UncaughtError | undefined;
}

/**
 * Runs the jobs concurrently, in order, as far as their payloads fit into memory together; the others run when earlier
 * ones have ended. Without an uncaught error, a job that is not entered at the end had no time left.
 */
export async function runInTurn(
  deps: AttemptDeps & BatchDeps,
  run: TurnRun,
  jobs: readonly OpenJob[],
  durations: number[],
): Promise<void> {
  const { runBatch } = deps.definition;
  if (runBatch !== undefined) return runGroups({ ...deps, runBatch }, run, jobs, durations);
  const running = new Set<Promise<void>>();
  let held = 0;
  for (const one of jobs) {
    const size = sizeOf(one);
    const waits = held > 0 && held + size > MOST_PAYLOAD_TEXT;
    while (held > 0 && held + size > MOST_PAYLOAD_TEXT) await Promise.race(running);
    if (run.uncaught || (waits && (run.overstayed || !fits(deps, run.invocation)))) break;
    held += size;
    const attempt = enter(waits ? await withPresentValues(deps) : deps, run, one, durations).finally(() => {
      held -= size;
      running.delete(attempt);
    });
    running.add(attempt);
  }
  await Promise.all(running);
}

/** Runs the jobs of a handler with `runBatch`, each group with one call. */
async function runGroups(
  deps: TogetherDeps & BatchDeps,
  run: TurnRun,
  jobs: readonly OpenJob[],
  durations: number[],
): Promise<void> {
  for (const [index, group] of groupsOf(jobs).entries()) {
    if (run.uncaught || (index > 0 && (run.overstayed || !fits(deps, run.invocation)))) return;
    await enterGroup(index > 0 ? await withPresentValues(deps) : deps, run, group, durations);
  }
}

/** Returns groups that fit into memory together, and then each job alone that would die of the error of another. */
function groupsOf(jobs: readonly OpenJob[]): OpenJob[][] {
  const groups: OpenJob[][] = [];
  let held = Number.POSITIVE_INFINITY;
  for (const one of jobs.filter((job) => !isLastOfSeveral(job))) {
    if (held + sizeOf(one) > MOST_PAYLOAD_TEXT) {
      groups.push([]);
      held = 0;
    }
    groups.at(-1)?.push(one);
    held += sizeOf(one);
  }
  return [...groups, ...jobs.filter(isLastOfSeveral).map((one) => [one])];
}

function isLastOfSeveral({ attempt: { number, max } }: OpenJob): boolean {
  return number > 1 && number >= max;
}

/** The secrets of jobs that waited for others may have been rotated. */
async function withPresentValues<Deps extends BatchDeps>(deps: Deps): Promise<Deps> {
  return deps.readValues === undefined ? deps : { ...deps, values: await deps.readValues() };
}

function sizeOf(one: OpenJob | undefined): number {
  return one?.attempt.payload?.length ?? 0;
}

/** An error that no code catches is that of all jobs, like any other of a process whose cause is unknown. */
async function enterGroup(
  deps: TogetherDeps & BatchDeps,
  run: TurnRun,
  group: readonly OpenJob[],
  durations: number[],
): Promise<void> {
  const begun = deps.time.now();
  for (const one of group) {
    Object.assign(one, { entered: true, begun });
    if (deps.logJobStarts) logStart(deps, one);
  }
  const results = await runTogether(
    deps,
    group.map(({ attempt }) => attempt),
  );
  for (const [index, one] of group.entries()) {
    one.result = results[index];
    run.overstayed ||= one.result?.overstayed ?? false;
    durations.push(one.result?.durationMs ?? 0);
  }
}

async function enter(deps: AttemptDeps & BatchDeps, run: TurnRun, one: OpenJob, durations: number[]): Promise<void> {
  one.entered = true;
  one.begun = deps.time.now();
  if (deps.logJobStarts) logStart(deps, one);
  one.result = await owned(one.attempt, () => runAttempt(deps, one.attempt));
  run.overstayed ||= one.result.overstayed;
  durations.push(one.result.durationMs);
}
