import { type BatchDeps, bounce, type Disposal, type Invocation } from './batch.ts';
import type { Delivery } from './decide.ts';
import { type Settled, type Settlement, settle } from './jobs/settle.ts';
import { readStandings } from './jobs/standings.ts';
import type { AttemptEnd } from './run-attempt.ts';

interface Ended {
  readonly delivery: Delivery;
  readonly end: AttemptEnd;
}

/** Time that the last words of an invocation may take, in milliseconds. */
const LAST_WORDS_MS = 1_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Writes the outcomes back, again and again while the invocation has time: a database that is away for a moment, or a
 * row that somebody holds, must not cost an attempt.
 */
export async function settleBatch(
  deps: BatchDeps,
  { invocation, disposal }: { invocation: Invocation; disposal: Disposal },
  ended: readonly Ended[],
): Promise<void> {
  let open = ended;
  for (let pause = FIRST_PAUSE_MS; open.length > 0; pause = Math.min(LONGEST_PAUSE_MS, pause * 2)) {
    open = await settleOpen(deps, { invocation, disposal }, open).catch((error: unknown) => {
      deps.log.warn('settle_failed', { error, jobs: open.length });
      return open;
    });
    if (open.length === 0) return;
    if (invocation.getRemainingTimeInMillis() < pause + LAST_WORDS_MS) break;
    await deps.time.sleep(pause);
  }
  // The lease ends them, as it ends the work of a crashed process.
  for (const { delivery } of open) {
    deps.log.error('settle_given_up', { job: delivery.message.jobId });
    disposal.failed.add(delivery.messageId);
  }
}

/** Answers those that are still running under our claim, because their row was locked. */
async function settleOpen(
  deps: BatchDeps,
  { invocation, disposal }: { invocation: Invocation; disposal: Disposal },
  ended: readonly Ended[],
): Promise<readonly Ended[]> {
  const requestId = invocation.awsRequestId;
  const settled = await settle(deps.db, ended.map(toSettlement), { requestId, log: deps.log });
  const unchanged: Ended[] = [];
  ended.forEach((one, index) => {
    const { status } = settled[index] as Settled;
    if (status === null) unchanged.push(one);
    else note(deps, one, status);
    if (status === 'dead_letter') bounce(disposal, one.delivery);
  });
  if (unchanged.length === 0) return [];
  const standings = await readStandings(
    deps.db,
    unchanged.map(({ delivery }) => delivery.message),
  );
  const byJob = new Map(standings.map((standing) => [standing.jobId, standing]));
  return unchanged.filter((one) => {
    const standing = byJob.get(one.delivery.message.jobId);
    if (standing?.ours && standing.status === 'running' && standing.requestId === requestId) return true;
    // An earlier try got through, or the lease was over: what the row says now is what counts.
    if (standing?.ours && standing.status === 'dead_letter') bounce(disposal, one.delivery);
    deps.log.warn('outcome_not_ours', {
      job: one.delivery.message.jobId,
      ended: one.end.ending.kind,
      status: standing?.status,
    });
    return false;
  });
}

function toSettlement({ delivery, end }: Ended): Settlement {
  return { jobId: delivery.message.jobId, claimNo: delivery.message.claimNo, ending: end.ending };
}

function note({ log, definition }: BatchDeps, { delivery, end }: Ended, status: string): void {
  const { ending, number, max, durationMs } = end;
  const fields = {
    job: delivery.message.jobId,
    job_type: definition.jobType,
    ...(definition.routingKey !== '' && { routing_key: definition.routingKey }),
    attempt: `${number}/${max}`,
    duration_ms: Math.round(durationMs),
    ...('error' in ending && { error: `${ending.error.name}: ${ending.error.message}`.slice(0, 500) }),
    ...('delaySeconds' in ending &&
      (status === 'failed' || status === 'pending') && { retry_in_s: ending.delaySeconds }),
  };
  if (status === 'failed' || status === 'dead_letter') log.warn(`job_${status}`, fields);
  else log.info(`job_${status === 'pending' ? 'snoozed' : status}`, fields);
}
