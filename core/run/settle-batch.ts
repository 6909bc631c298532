import { type Settled, type Settlement, settle } from '../jobs/settle.ts';
import { readStandings } from '../jobs/standings.ts';
import { type BatchDeps, bounce, type Disposal, type Invocation } from './batch.ts';
import { deliveryFields, type Ended, logEnding } from './job-lines.ts';

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
    deps.log.error('settle_given_up', deliveryFields(delivery));
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
    const answer = settled[index] as Settled;
    if (answer.status === null) unchanged.push(one);
    else logEnding(deps, one, answer);
    if (answer.status === 'dead_letter') bounce(disposal, one.delivery);
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
      ...deliveryFields(one.delivery),
      ended: one.end.ending.kind,
      status: standing?.status ?? undefined,
    });
    return false;
  });
}

function toSettlement({ delivery, end }: Ended): Settlement {
  return { jobId: delivery.message.jobId, claimNo: delivery.message.claimNo, ending: end.ending };
}
