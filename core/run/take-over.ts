import type { BatchDeps, Disposal } from './batch.ts';
import { batchFields, type SettledRun } from './log-fields.ts';
import { settleBatch } from './settle-batch.ts';

/** The outcomes that another thread stores for a batch whose thread is blocked. */
export interface TakeOverReport {
  readonly requestId: string;
  readonly busySeconds: number;
  /** Remaining time of the invocation, in milliseconds. */
  readonly remainingMs: number;
  /** Receipt handles of the messages that the blocked thread wanted to make visible. */
  readonly visible: readonly string[];
  readonly runs: readonly SettledRun[];
}

/**
 * Stores the outcomes of a batch whose thread is blocked, and ends the process. Runs in another thread while the
 * blocked thread is paused. The blocked thread does not continue, so no job of the batch runs while its next attempt
 * starts elsewhere. A missing report means that native code could not be stopped; then nothing is stored and the
 * process continues.
 */
export async function takeOver(given: BatchDeps, report: TakeOverReport | undefined): Promise<void> {
  const log = given.log.child({ ...batchFields(given), ...(report && { function_request_id: report.requestId }) });
  if (report === undefined) return log.error('batch_blocked', { reason: 'a call of native code does not return' });
  log.error('batch_blocked', { reason: `a job blocked the event loop for ${report.busySeconds} s` });
  try {
    await store({ ...given, log }, report);
  } finally {
    given.exit();
  }
}

async function store(deps: BatchDeps, report: TakeOverReport): Promise<void> {
  const { requestId, remainingMs, visible, runs } = report;
  const until = deps.time.now() + remainingMs;
  const invocation = { awsRequestId: requestId, getRemainingTimeInMillis: () => until - deps.time.now() };
  const disposal: Disposal = { failed: new Set(), visible: new Set(visible) };
  await settleBatch(deps, { invocation, disposal }, runs);
  await deps.queues.makeVisible(deps.queueUrl, [...disposal.visible]);
}
