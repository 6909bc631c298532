import { decodeMessage } from '../aws/message.ts';
import { runOnce } from '../dispatch/dispatcher.ts';
import { seconds } from '../duration.ts';
import { SettingError } from '../errors.ts';
import type { HandlerDefinition } from '../handler/handler.ts';
import { handlerName } from '../handler/naming.ts';
import { checkKeys } from '../handler/policy-fields.ts';
import { whole } from '../handler/whole.ts';
import type { Database } from '../postgres/database.ts';
import { runBatch } from '../run/run-batch.ts';
import { systemTime } from '../time.ts';
import { readClock, setClock } from './clock.ts';
import { queueOf } from './deploy.ts';
import type { DrainedRun, DrainOptions } from './drained-run.ts';
import { type EngineLog, openEngineLog } from './engine-log.ts';
import { type GivenValues, valuesFor } from './given-values.ts';
import { withResult } from './handler-run.ts';
import { type Delivered, type MemoryQueue, openMemoryQueue } from './memory-queue.ts';
import { type NextTime, readJob, readNextTime } from './next-time.ts';
import { observe } from './observed-handler.ts';

/** A database with a governed clock, and the handlers that are deployed in it. */
export interface Drained {
  readonly db: Database;
  readonly handlers: readonly HandlerDefinition[];
  /** The settings and secrets that the handlers name. */
  readonly given: GivenValues;
}

const OPTIONS = ['until', 'maxRuns', 'random'];
const MAX_RUNS = 1000;
/** Steps of the clock for each attempt that is allowed: ticks of a schedule without a handler run nothing. */
const STEPS = 100;
/** One claim in ten ignores priority; this draw is not one of them. */
const BY_PRIORITY = 0.999;
/** Longer than any timeout, in milliseconds. */
const REMAINING_MS = 900_000;

/** The state of one drain. */
interface Run extends Drained {
  readonly queue: MemoryQueue;
  readonly engine: EngineLog;
  readonly random: () => number;
}

/**
 * Runs due jobs one after another, by priority and age, with the dispatcher and the batches of a deployment, but
 * without SQS. When no job is due, moves the clock to the next retry, run time or tick, until `until` or, without it,
 * until no job waits. Returns the attempts in their order.
 * @throws Error when a due job cannot be claimed, or after `maxRuns` attempts
 */
export async function drain(drained: Drained, options: DrainOptions = {}): Promise<DrainedRun[]> {
  checkKeys('drain(options)', options, OPTIONS);
  const most = whole('maxRuns', options.maxRuns ?? MAX_RUNS, 1, 1_000_000);
  const end = endOf(options.until, await readClock(drained.db));
  const run: Run = {
    ...drained,
    queue: openMemoryQueue(),
    engine: openEngineLog(),
    random: options.random ?? (() => 0),
  };
  const runs: DrainedRun[] = [];
  for (let steps = 0; ; ) {
    const message = await nextMessage(run);
    if (message !== undefined) {
      const one = await runMessage(run, message);
      if (one !== undefined) runs.push(one);
      refuseTooMany(runs, most);
      continue;
    }
    const next = await readNextTime(run.db);
    const at = nextStep(next, end);
    if (at === undefined) return runs;
    if (at <= next.now) throw new Error(stuck(next));
    if (++steps > most * STEPS)
      throw new Error(`drain moved the clock ${steps} times, to ${at.toISOString()}: ${BOUND}`);
    await setClock(run.db, at);
  }
}

function endOf(until: DrainOptions['until'], now: Date): Date | undefined {
  if (until === undefined) return undefined;
  const end = until instanceof Date ? until : new Date(now.getTime() + seconds(until, 'until') * 1000);
  if (!Number.isNaN(end.getTime())) return end;
  throw new SettingError('until', 'a valid Date, or a duration such as 30s, 5m or 2d', until);
}

/** Runs a round of the dispatcher, and returns the message that it sent; undefined if no job is due. */
async function nextMessage({ db, queue, engine }: Run): Promise<Delivered | undefined> {
  const deps = { db, queues: queue, log: engine.log, time: systemTime, random: () => BY_PRIORITY };
  await runOnce(deps, { limit: 1 });
  engine.refuseFaults();
  return queue.take();
}

/** Returns the next time at which something is due; undefined at the end. Ticks alone never end, so they need one. */
function nextStep({ now, job, tick }: NextTime, end: Date | undefined): Date | undefined {
  const times = [job, end === undefined && job === null ? null : tick].filter((time) => time !== null);
  const first = times.toSorted((a, b) => a.getTime() - b.getTime())[0];
  if (end === undefined) return first;
  if (first !== undefined && first <= end) return first;
  return now < end ? end : undefined;
}

/** Runs one batch of one message; undefined if it started no attempt, such as that of a cancelled job. */
async function runMessage(run: Run, { queueUrl, record }: Delivered): Promise<DrainedRun | undefined> {
  const { db, queue, engine } = run;
  const handler = run.handlers.find((one) => queueOf(one) === queueUrl);
  const { jobId = '' } = decodeMessage(record.body) ?? {};
  if (handler === undefined) throw new Error(`job ${jobId} has no handler: deploy it with its definition`);
  const values = valuesFor(handler, run.given);
  const observed = observe(handler);
  const at = await readClock(db);
  const { definition } = observed;
  const exit = () => undefined;
  const deps = {
    ...{ definition, queueUrl, db, queues: queue, time: systemTime, log: engine.log, random: run.random, exit },
    readValues: async () => values,
  };
  const invocation = { awsRequestId: record.messageId, getRemainingTimeInMillis: () => REMAINING_MS };
  await runBatch(deps, { Records: [record] }, invocation);
  engine.refuseFaults();
  const ending = engine.takeEnding();
  if (ending === undefined) return undefined;
  const { attempt, nextDelaySeconds, outcome, error } = ending;
  const job = await readJob(db, jobId);
  const next = nextDelaySeconds === null ? null : Math.ceil(at.getTime() + nextDelaySeconds * 1000);
  const nextAttemptAt = next === null ? null : new Date(next);
  const { jobType, routingKey } = handler;
  return withResult(
    {
      ...{ jobId, jobType, routingKey, payload: job?.payload ?? null, attempt, at },
      ...{ outcome, error, nextDelaySeconds, nextAttemptAt, log: observed.lines },
    },
    { handler: handlerName(handler), result: job?.result ?? null, cause: observed.thrown() },
  );
}

const BOUND = 'pass until, or a larger maxRuns';

function refuseTooMany(runs: readonly DrainedRun[], most: number): void {
  if (runs.length <= most) return;
  const counts = Map.groupBy(runs, handlerName);
  const told = [...counts].map(([name, of]) => `${of.length} of ${name}`).join(', ');
  const at = runs.at(-1)?.at.toISOString();
  throw new Error(`drain ran more than ${most} attempts (${told}), and jobs still wait at ${at}: ${BOUND}`);
}

function stuck({ job, jobId }: NextTime): string {
  if (jobId === null || job === null) return 'a schedule is due, but its tick cannot be stored';
  return (
    `job ${jobId} is due, but the dispatcher cannot claim it: another transaction has locked it, or other jobs of ` +
    'its handler are in flight. Commit or roll back before drain'
  );
}
