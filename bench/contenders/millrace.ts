import { randomUUID } from 'node:crypto';
import type { DispatchDeps } from '../../core/dispatch/dispatch.ts';
import { drainDue } from '../../core/dispatch/drain-due.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { retry } from '../../core/handler/retry-policy.ts';
import { openFloors } from '../../core/jobs/claim-floors.ts';
import { openLog } from '../../core/log.ts';
import { type Database, openDatabase } from '../../core/postgres/database.ts';
import { readEpoch } from '../../core/postgres/epoch.ts';
import { migrate } from '../../core/postgres/migrate.ts';
import { registerHandlers } from '../../core/registry/register-handlers.ts';
import type { BatchDeps } from '../../core/run/batch.ts';
import { runBatch } from '../../core/run/run-batch.ts';
import { systemTime } from '../../core/time.ts';
import { type Contender, inBatches, type OpenContender } from './contender.ts';
import { HandOver } from './hand-over.ts';
import { type BenchPayload, FailsOnce, failuresOf, NO_OP, Runs, type Work } from './work.ts';

export const CLAIM = 1000;
export const IN_FLIGHT = 10_000;
export const QUEUE_URL = 'bench';
const WAIT_FOR_ROOM_MS = 5;
const ENQUEUE_MANY = 'select count(*) from millrace.enqueue_many($1)';
const COUNT_SUCCEEDED = `
  select count(*) filter (where status = 'succeeded')::integer as succeeded, count(*)::integer as all,
         coalesce(sum(attempts), 0)::integer as attempts
    from millrace.jobs`;

const quiet = openLog(() => undefined);
/** Discards all lines. */
export const log = { ...quiet, info: () => undefined, child: () => log };

export function connect(connectionString: string): Database {
  return openDatabase({ connectionString, max: 1, name: 'bench', log });
}

/** Migrates a database and registers one handler, which calls `run` and retries a failed job at once. */
export async function prepare(
  connectionString: string,
  batch: number,
  run: (payload: BenchPayload) => void = () => {},
) {
  await migrate({ connectionString, log });
  const definition = defineHandler({
    jobType: 'no_op',
    payload: { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } },
    batch: { size: batch, window: 1 },
    // So the limit of jobs in flight starts at its maximum.
    concurrency: IN_FLIGHT / batch / 2,
    maxInFlight: IN_FLIGHT,
    retry: retry.fixed(0),
    run: async ({ payload }) => run(payload as BenchPayload),
  });
  const db = connect(connectionString);
  const addresses = { queueUrl: QUEUE_URL, deadLetterQueueUrl: `${QUEUE_URL}-dead`, functionName: 'bench' };
  await registerHandlers({ db, stage: 'bench' }, [{ definition, ...addresses }]);
  return { db, definition, epoch: await readEpoch(db) };
}

export async function enqueue(db: Database, jobs: number, work: Work = NO_OP): Promise<void> {
  const put = (payloads: BenchPayload[]) =>
    db.query(ENQUEUE_MANY, [JSON.stringify(payloads.map((payload) => ({ job_type: 'no_op', payload })))]);
  await inBatches(jobs, put, work);
}

/** Throws unless each job succeeded, in that number of attempts altogether. */
export async function checkSucceeded(db: Database, jobs: number, attempts = jobs): Promise<void> {
  const { rows } = await db.query<{ succeeded: number; all: number; attempts: number }>(COUNT_SUCCEEDED);
  const [row] = rows;
  if (row?.succeeded !== jobs || row.all !== jobs || row.attempts !== attempts) {
    const found = `${row?.succeeded} of ${row?.all} jobs succeeded in ${row?.attempts} attempts`;
    throw new Error(`millrace: ${found}, expected ${jobs} in ${attempts}`);
  }
}

/** One dispatcher and `lanes` handlers, each with a connection, and a queue in memory instead of SQS. */
export function millrace(batch: number, lanes: number): Contender {
  return {
    ...{ system: 'millrace', batch, lanes },
    async open(connectionString, work = NO_OP): Promise<OpenContender> {
      const ran = new Runs(work);
      const attemptsOf = (jobs: number) => jobs + failuresOf(work, jobs);
      const { db, definition } = await prepare(connectionString, batch, (payload) => {
        if (ran.fails(payload)) throw new FailsOnce('the first attempt fails');
      });
      const connections = Array.from({ length: lanes }, () => connect(connectionString));
      const queue = new HandOver();
      const deps = { definition, queueUrl: QUEUE_URL, queues: queue, time: systemTime, log, random: Math.random };
      return {
        enqueue: (jobs) => enqueue(db, jobs, work),
        async drain(jobs) {
          queue.expect(attemptsOf(jobs));
          const runs = connections.map((own) => handleFrom({ ...deps, db: own, exit: () => undefined }, queue, batch));
          await Promise.all([
            send({ db, queues: queue, log, random: Math.random, floors: openFloors(systemTime) }, attemptsOf(jobs)),
            ...runs,
          ]);
        },
        async check(jobs) {
          await checkSucceeded(db, jobs, attemptsOf(jobs));
          if (!ran.areComplete(jobs)) throw new Error('millrace: not every job ran as often as it should');
        },
        async close() {
          await Promise.all([db, ...connections].map((one) => one.close()));
        },
      };
    },
  };
}

async function send(deps: DispatchDeps, jobs: number): Promise<void> {
  for (let sent = 0; sent < jobs; ) {
    sent += (await drainDue(deps, { claimLimit: CLAIM, goesOn: () => true })).sent;
    await systemTime.sleep(WAIT_FOR_ROOM_MS);
  }
}

/** Runs batches of messages until the queue has handed over all that it expects. */
export async function handleFrom(deps: BatchDeps, queue: HandOver, batch: number): Promise<void> {
  for (;;) {
    const records = await queue.take(batch);
    if (records.length === 0) return;
    const invocation = { awsRequestId: randomUUID(), getRemainingTimeInMillis: () => 900_000 };
    const { batchItemFailures } = await runBatch(deps, { Records: records }, invocation);
    if (batchItemFailures.length > 0)
      throw new Error(`millrace: ${batchItemFailures.length} messages were not handled`);
  }
}
