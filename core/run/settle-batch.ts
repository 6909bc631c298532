import { messageOf } from '../failure.ts';
import type { JobStatus } from '../job.ts';
import { settle } from '../jobs/settle.ts';
import { enqueueRefused } from '../jobs/settle-each.ts';
import { jobsFields, type LogFields } from '../log.ts';
import type { Settled, Settlement } from '../outcome.ts';
import type { Database } from '../postgres/database.ts';
import { errorCode, isLockTimeout } from '../postgres/statement-errors.ts';
import { retryUntilDone } from '../time.ts';
import { type BatchDeps, bounce, type Disposal, type Invocation } from './batch.ts';
import { deliveryFields, logOutcome, type SettledRun } from './log-fields.ts';

/** Time that is reserved for the last log lines of an invocation, in milliseconds. */
const LOG_RESERVE_MS = 1_000;

interface Batch {
  readonly invocation: Invocation;
  readonly disposal: Disposal;
  /** Called with every error that keeps outcomes from being stored. */
  readonly onRefused?: (error: unknown) => void;
}

/**
 * Stores the outcomes, and retries while the invocation has time: a short outage of the database or a locked row must
 * not cost an attempt. At the end, a success whose jobs have a unique key that another transaction keeps has failed for
 * that reason; otherwise it would be rescued, as if it had ended its process.
 */
export async function settleBatch(
  deps: BatchDeps,
  { invocation, disposal }: Batch,
  ended: readonly SettledRun[],
): Promise<void> {
  let open = ended;
  let refusal: unknown;
  const onRefused = (error: unknown) => {
    refusal = error;
  };
  const hasTime = (pauseMs: number) => invocation.getRemainingTimeInMillis() >= pauseMs + LOG_RESERVE_MS;
  await retryUntilDone(deps.time, hasTime, async () => {
    refusal = undefined;
    open = await settleOnce(deps, { invocation, disposal, onRefused }, open);
    return open.length === 0;
  });
  if (isLockTimeout(refusal)) {
    const ends = open.map((one) => ({
      ...one,
      result: { ...one.result, outcome: enqueueRefused(one.result.outcome, refusal) },
    }));
    open = await settleOnce(deps, { invocation, disposal, onRefused }, ends);
  }
  // Rescue ends them when their lease expires, like the attempts of a crashed process.
  for (const { delivery } of open) disposal.failed.add(delivery.messageId);
  if (open.length > 0) deps.log.error('settle_given_up', givenUpFields(open, refusal));
}

/** Returns the fields of one line for all jobs of a batch: an outage concerns all, and its cause is the same. */
function givenUpFields(open: readonly SettledRun[], refusal: unknown): LogFields {
  const jobs = jobsFields(open.map(({ delivery }) => delivery.message.jobId));
  if (refusal === undefined) return { ...jobs, reason: 'other transactions have locked the rows of these jobs' };
  return { ...jobs, reason: messageOf(refusal), sqlstate: errorCode(refusal), error: refusal };
}

/** Tries once to store the outcomes, and returns those that are still open. Never throws. */
export async function settleOnce(
  deps: BatchDeps,
  run: Batch,
  ended: readonly SettledRun[],
): Promise<readonly SettledRun[]> {
  return settleOpen(deps, run, ended).catch((error: unknown) => {
    run.onRefused?.(error);
    deps.log.warn('settle_failed', { error, jobs: ended.length });
    return ended;
  });
}

/**
 * Settles attempts, and returns those that still run under this claim because their row was locked. Those that were
 * tried alone come last: the next try has time for only a few of them.
 */
async function settleOpen(
  deps: BatchDeps,
  { invocation, disposal, onRefused }: Batch,
  ended: readonly SettledRun[],
): Promise<readonly SettledRun[]> {
  const requestId = invocation.awsRequestId;
  const tried = new Set<string | undefined>();
  const settled = await settle(deps.db, ended.map(toSettlement), {
    ...{ requestId, log: deps.log },
    onRefused: (error, jobId) => {
      tried.add(jobId);
      onRefused?.(error);
    },
  });
  const unchanged: SettledRun[] = [];
  ended.forEach((one, index) => {
    const { status, dueAt } = settled[index] as Settled;
    if (status === null) unchanged.push(one);
    else logOutcome(deps, one, { status, dueAt });
    if (status === 'dead_letter') bounce(disposal, one.delivery);
  });
  if (unchanged.length === 0) return [];
  const states = await readClaims(
    deps.db,
    unchanged.map(({ delivery }) => delivery.message),
  );
  const byJob = new Map(states.map((state) => [state.jobId, state]));
  const open = unchanged.filter((one) => {
    const state = byJob.get(one.delivery.message.jobId);
    if (state?.ours && state.status === 'running' && state.requestId === requestId) return true;
    // An earlier settle was stored, or rescue ended the attempt: the row is authoritative.
    if (state?.ours && state.status === 'dead_letter') bounce(disposal, one.delivery);
    deps.log.warn('outcome_not_ours', {
      ...deliveryFields(one.delivery),
      outcome: one.result.outcome.kind,
      status: state?.status ?? undefined,
      reason: standing(state),
    });
    return false;
  });
  const wasTried = ({ delivery }: SettledRun) => Number(tried.has(delivery.message.jobId));
  return open.toSorted((a, b) => wasTried(a) - wasTried(b));
}

/** Returns why an outcome was not stored: the row is no longer that of this attempt. */
function standing(state: ClaimState | undefined): string {
  if (state === undefined || state.status === null) return 'the job has finished or was deleted';
  if (!state.ours) return `the job is ${state.status} under another claim`;
  return `the job is ${state.status}${state.status === 'running' ? ' in another request' : ''}`;
}

function toSettlement({ delivery, result, suspect = false }: SettledRun): Settlement {
  return { jobId: delivery.message.jobId, claimNo: delivery.message.claimNo, outcome: result.outcome, suspect };
}

const READ_CLAIMS = `
  select w.id as "jobId", j.status, j.claim_no = w.claim_no as ours, j.request_id as "requestId"
    from unnest($1::bigint[], $2::bigint[]) as w(id, claim_no)
    left join millrace.jobs_live j on j.id = w.id`;

/** The state of a job that settle did not change; a null status means that it has no live row. */
interface ClaimState {
  readonly jobId: string;
  readonly status: JobStatus | null;
  readonly ours: boolean | null;
  readonly requestId: string | null;
}

async function readClaims(
  db: Database,
  claims: readonly { readonly jobId: string; readonly claimNo: string }[],
): Promise<ClaimState[]> {
  const { rows } = await db.query<ClaimState>(READ_CLAIMS, [
    claims.map(({ jobId }) => jobId),
    claims.map(({ claimNo }) => claimNo),
  ]);
  return rows;
}
