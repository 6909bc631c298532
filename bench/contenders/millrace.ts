import { randomUUID } from 'node:crypto';
import { type DispatchDeps, dispatch } from '../../core/dispatch/dispatch.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { openFloors } from '../../core/jobs/claim-floors.ts';
import { openLog } from '../../core/log.ts';
import { type Database, openDatabase } from '../../core/postgres/database.ts';
import { readEpoch } from '../../core/postgres/epoch.ts';
import { migrate } from '../../core/postgres/migrate.ts';
import { registerHandlers } from '../../core/registry/register-handlers.ts';
import type { BatchDeps } from '../../core/run/batch.ts';
import { runBatch } from '../../core/run/run-batch.ts';
import { systemTime } from '../../core/time.ts';
import { type Contender, inBatches, type OpenContender, RunCount } from './contender.ts';
import { HandOver } from './hand-over.ts';

export const CLAIM = 1000;
export const IN_FLIGHT = 10_000;
const QUEUE_URL = 'bench';
const WAIT_FOR_ROOM_MS = 5;
const ENQUEUE_MANY = 'select count(*) from millrace.enqueue_many($1)';
const COUNT_SUCCEEDED = `
  select count(*) filter (where status = 'succeeded' and attempts = 1)::integer as succeeded, count(*)::integer as all
    from millrace.jobs`;

const quiet = openLog(() => undefined);
const log = { ...quiet, info: () => undefined, child: () => log };

export function connect(connectionString: string): Database {
  return openDatabase({ connectionString, max: 1, name: 'bench', log });
}

/** Migrates a database and registers one handler, which counts its runs in `ran`. */
export async function prepare(connectionString: string, batch: number, ran = new RunCount()) {
  await migrate({ connectionString, log });
  const definition = defineHandler({
    jobType: 'no_op',
    payload: { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } },
    batch: { size: batch, window: 1 },
    // So the limit of jobs in flight starts at its maximum.
    concurrency: IN_FLIGHT / batch / 2,
    maxInFlight: IN_FLIGHT,
    run: async ({ jobId }) => {
      ran.add(jobId);
    },
  });
  const db = connect(connectionString);
  const addresses = { queueUrl: QUEUE_URL, deadLetterQueueUrl: `${QUEUE_URL}-dead`, functionName: 'bench' };
  await registerHandlers({ db, stage: 'bench' }, [{ definition, ...addresses }]);
  return { db, definition, epoch: await readEpoch(db) };
}

export async function enqueue(db: Database, jobs: number): Promise<void> {
  await inBatches(jobs, (payloads) =>
    db.query(ENQUEUE_MANY, [JSON.stringify(payloads.map((payload) => ({ job_type: 'no_op', payload })))]),
  );
}

/** Throws unless each job succeeded in its first attempt. */
export async function checkSucceeded(db: Database, jobs: number): Promise<void> {
  const { rows } = await db.query<{ succeeded: number; all: number }>(COUNT_SUCCEEDED);
  if (rows[0]?.succeeded !== jobs || rows[0].all !== jobs) {
    throw new Error(
      `millrace: ${rows[0]?.succeeded} of ${rows[0]?.all} jobs succeeded in their first attempt, expected ${jobs}`,
    );
  }
}

/** One dispatcher and `lanes` handlers, each with a connection, and a queue in memory instead of SQS. */
export function millrace(batch: number, lanes: number): Contender {
  return {
    ...{ system: 'millrace', batch, lanes },
    async open(connectionString): Promise<OpenContender> {
      const ran = new RunCount();
      const { db, definition } = await prepare(connectionString, batch, ran);
      const connections = Array.from({ length: lanes }, () => connect(connectionString));
      const queue = new HandOver();
      const deps = { definition, queueUrl: QUEUE_URL, queues: queue, time: systemTime, log, random: Math.random };
      return {
        enqueue: (jobs) => enqueue(db, jobs),
        async drain(jobs) {
          queue.expect(jobs);
          const runs = connections.map((own) => handle({ ...deps, db: own, exit: () => undefined }, queue, batch));
          await Promise.all([
            send({ db, queues: queue, log, random: Math.random, floors: openFloors(systemTime) }, jobs),
            ...runs,
          ]);
        },
        async check(jobs) {
          await checkSucceeded(db, jobs);
          if (!ran.ranOnce(jobs)) throw new Error('millrace: not every job ran once');
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
    const round = await dispatch(deps, CLAIM);
    sent += round.sent;
    if (round.claimed < CLAIM) await systemTime.sleep(WAIT_FOR_ROOM_MS);
  }
}

async function handle(deps: BatchDeps, queue: HandOver, batch: number): Promise<void> {
  for (;;) {
    const records = await queue.take(batch);
    if (records.length === 0) return;
    const invocation = { awsRequestId: randomUUID(), getRemainingTimeInMillis: () => 900_000 };
    const { batchItemFailures } = await runBatch(deps, { Records: records }, invocation);
    if (batchItemFailures.length > 0)
      throw new Error(`millrace: ${batchItemFailures.length} messages were not handled`);
  }
}
