import { MAX_RECEIVE_COUNT, timingOf } from '../handler/timing.ts';
import { start } from '../jobs/start.ts';
import type { StartAnswer, StartBatch, Started } from '../jobs/start-answer.ts';
import { retryUntilDone } from '../time.ts';
import { applyDecisions } from './apply-decisions.ts';
import { type BatchDeps, bounce, type Disposal, fits, type Invocation } from './batch.ts';
import type { Delivery } from './decide.ts';
import { batchFields } from './log-fields.ts';
import { findSuspects } from './read-jobs.ts';
import { releaseUnstarted } from './release-unstarted.ts';
import { runWave, type WaveRun } from './run-wave.ts';
import { type BatchResponse, type DecodedBatch, decodeBatch, type SqsEvent, type SqsRecord } from './sqs-event.ts';
import type { UncaughtError } from './uncaught-errors.ts';

/** How long the runtime may take to report an error to Lambda, in milliseconds. */
const REPORT_MS = 1_000;
/**
 * A suspect with this many receives starts first and alone, so that it cannot crash the other jobs of the batch again.
 */
const SUSPECT_FIRST_AT = 3;

/**
 * Runs one SQS batch: starts all jobs, runs them concurrently and settles each soon after it ended. Never throws; the
 * response names the messages that must stay in SQS.
 */
export async function runBatch(given: BatchDeps, event: SqsEvent, invocation: Invocation): Promise<BatchResponse> {
  const deps = { ...given, log: given.log.child(batchFields(given)) };
  const disposal: Disposal = { failed: new Set(), visible: new Set() };
  const run: BatchRun = {
    ...{ batch: decodeBatch(event), invocation, disposal },
    ...{ overstayed: false, uncaught: undefined, over: new AbortController() },
  };
  const unwatch = deps.uncaught?.watch((uncaught) => receiveUncaught(deps, run, uncaught));
  try {
    for (const record of run.batch.unreadable) refuse(deps, disposal, record);
    await runDeliveries(deps, run);
  } catch (error) {
    // The database or the runtime failed, so every message must be delivered again.
    deps.log.error('batch_failed', { error });
    for (const { messageId } of event.Records) disposal.failed.add(messageId);
  }
  await deps.queues.makeVisible(deps.queueUrl, [...disposal.visible]);
  unwatch?.();
  if (run.uncaught) await endWith(deps, run.uncaught);
  else if (run.overstayed) deps.exit();
  return { batchItemFailures: [...disposal.failed].map((itemIdentifier) => ({ itemIdentifier })) };
}

/** The state of the process is unknown after such an error: what runs is not waited for. */
function receiveUncaught({ log }: BatchDeps, run: BatchRun, uncaught: UncaughtError): void {
  const { error, owner } = uncaught;
  log.error('uncaught_error', { error, ...(owner && { job_id: owner.jobId }) });
  run.uncaught ??= uncaught;
  run.over.abort();
}

/** Ends the process as the error would have: the runtime reports it to Lambda. Exits if no listener does. */
async function endWith({ time, exit }: BatchDeps, { pass }: UncaughtError): Promise<void> {
  pass();
  await time.sleep(REPORT_MS);
  exit();
}

/** Bounces an unreadable message, but not endlessly: without a dead-letter queue it would loop without a pause. */
function refuse({ log }: BatchDeps, disposal: Disposal, record: SqsRecord): void {
  const received = Number(record.attributes?.ApproximateReceiveCount ?? 1);
  const isStuck = received > MAX_RECEIVE_COUNT;
  const reason = isStuck ? 'received too often: check the redrive policy of its queue' : 'not a Millrace message';
  log.error('message_unreadable', { sqs_message_id: record.messageId, receive_count: received, reason });
  if (isStuck) disposal.failed.add(record.messageId);
  else bounce(disposal, record);
}

interface BatchRun extends WaveRun {
  readonly batch: DecodedBatch;
}

async function runDeliveries(given: BatchDeps, run: BatchRun): Promise<void> {
  const { deliveries, twins } = run.batch;
  if (deliveries.length === 0) return;
  // Before any job starts: if a secret cannot be read, no job uses an attempt.
  const deps = { ...given, values: await given.readValues?.() };
  const all = [...deliveries, ...twins];
  if (!fits(deps, run.invocation)) return releaseUnstarted(deps, run.disposal, all);
  const first = await findFirstSuspect(deps, deliveries);
  if (first) {
    const { mates = [], copies = [] } = Object.groupBy(all, (one) => (sameClaim(one, first) ? 'copies' : 'mates'));
    await releaseUnstarted(deps, run.disposal, mates);
    const others = copies.filter((copy) => copy !== first);
    return runStarted(deps, run, { deliveries: [first], twins: others, suspects: true });
  }
  const alone = deliveries.length === 1;
  const suspects: Delivery[] = [];
  await runStarted(deps, run, { deliveries, twins, suspects: alone, found: suspects });
  await runSuspects(deps, run, suspects);
}

/** Runs one suspect for each invocation, after the other jobs are settled, and releases the remaining ones first. */
async function runSuspects(deps: BatchDeps, run: BatchRun, suspects: readonly Delivery[]): Promise<void> {
  const [one, ...rest] = suspects;
  if (one === undefined) return;
  await releaseUnstarted(deps, run.disposal, rest);
  // This one bounces, because that raises its receive count: if it were released each time, it would never start first,
  // and would starve behind other jobs of the batch that leave too little time.
  if (run.overstayed || run.uncaught || !fits(deps, run.invocation)) bounce(run.disposal, one);
  else await runStarted(deps, run, { deliveries: [one], twins: [], suspects: true });
}

function sameClaim(one: Delivery, other: Delivery): boolean {
  return one.message.jobId === other.message.jobId && one.message.claimNo === other.message.claimNo;
}

interface StartWave {
  readonly deliveries: readonly Delivery[];
  readonly twins: readonly Delivery[];
  readonly suspects: boolean;
  /** Receives the suspects that were not started. */
  readonly found?: Delivery[];
}

async function runStarted(deps: BatchDeps, run: BatchRun, wave: StartWave): Promise<void> {
  const { definition } = deps;
  const { jobType, routingKey } = definition;
  const requestId = run.invocation.awsRequestId;
  const requests = wave.deliveries.map((delivery) => ({ ...delivery, ...delivery.message }));
  const started = await startWithRetry(deps, run.invocation, {
    ...{ jobType, routingKey, requestId, requests },
    suspects: wave.suspects,
    leaseSeconds: timingOf(definition).runningLease,
  });
  const pairs = wave.deliveries.map((delivery, index) => ({ delivery, answer: started.answers[index] as StartAnswer }));
  const jobs = pairs.filter(({ answer }) => answer.verdict === 'started');
  wave.found?.push(...pairs.filter(({ answer }) => answer.verdict === 'suspect').map(({ delivery }) => delivery));
  const others = pairs.filter(({ answer }) => answer.verdict === 'none' || answer.verdict === 'busy');
  // Decisions run concurrently with the attempts, so that a redrive does not wait for the other jobs of the batch.
  const decided = applyDecisions(deps, run.disposal, others, wave.twins).catch((error: unknown) => ({ error }));
  const durations = await runWave(deps, run, { jobs, policy: started.retryPolicy, decided });
  const waits = jobs.flatMap(({ answer }) => answer.waitSeconds ?? []).map((seconds) => seconds * 1000);
  deps.metrics?.put({ WaitTime: waits, Duration: durations }, jobType);
  const undecided = await decided;
  if (undecided) throw undecided.error;
}

/** Repeats the start until it returns: one request starts a job once, and a started job must run. */
async function startWithRetry(deps: BatchDeps, invocation: Invocation, batch: StartBatch): Promise<Started> {
  let started: Started | undefined;
  let failure: unknown;
  const hasTime = (pauseMs: number) => fits(deps, invocation, pauseMs);
  await retryUntilDone(deps.time, hasTime, async () => {
    started = await start(deps.db, batch).catch((error: unknown) => {
      deps.log.warn('start_failed', { error, jobs: batch.requests.length });
      failure = error;
      return undefined;
    });
    return started !== undefined;
  });
  if (started === undefined) throw failure;
  return started;
}

async function findFirstSuspect(deps: BatchDeps, deliveries: readonly Delivery[]): Promise<Delivery | undefined> {
  const often = deliveries.filter(({ receiveCount }) => receiveCount >= SUSPECT_FIRST_AT);
  if (often.length === 0) return undefined;
  const suspects = await findSuspects(
    deps.db,
    often.map(({ message }) => message),
  );
  return often.find(({ message }) => suspects.has(message.jobId));
}
