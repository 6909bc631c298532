import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import type pg from 'pg';
import { type Contender, inBatches } from './contender.ts';
import { openPool } from './pool.ts';
import { type BenchPayload, FailsOnce, failuresOf, NO_OP, Runs } from './work.ts';

const LIST_JOBS = `select coalesce(array_agg(id::text), '{}') as ids from graphile_worker.jobs`;
const COUNT_JOBS = 'select count(*)::integer as jobs from graphile_worker.jobs';
const CONCURRENCY = 24;
const logger = new Logger(() => () => undefined);

/** Configured as on its performance page ("with batching"), but in one process, for machines with few cores. */
const BATCHED = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

/** Installs its schema; `close` ends all connections. */
export async function openGraphile(connectionString: string, connections: number) {
  const pgPool = openPool(connectionString, connections);
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  const close = async () => {
    await utils.release();
    await pgPool.end();
  };
  return { pgPool, utils, close };
}

/** Starts a runner of no_op; stop it to end its workers. */
export function startGraphile(pgPool: pg.Pool, noOp: (payload: unknown) => Promise<void>, isBatched: boolean) {
  const preset = {
    worker: { concurrentJobs: CONCURRENCY, logger, ...(isBatched && BATCHED) },
  };
  return run({ pgPool, preset, taskList: { no_op: noOp }, noHandleSignals: true });
}

/** Takes and finishes many jobs at once, or each by itself, which is its default. */
export const graphileWorkers: readonly Contender[] = [true, false].map((isBatched) => ({
  ...{ system: 'graphile-worker', batch: isBatched ? BATCHED.localQueue.size : undefined, lanes: CONCURRENCY },
  async open(connectionString, work = NO_OP) {
    const { pgPool, utils, close } = await openGraphile(connectionString, CONCURRENCY + 1);
    const ran = new Runs(work);
    const runUntil = async (isDone: () => boolean) => {
      if (isDone()) return;
      const { promise: done, resolve } = Promise.withResolvers<void>();
      const noOp = async (payload: unknown) => {
        const fails = ran.fails(payload as BenchPayload);
        if (isDone()) resolve();
        if (fails) throw new FailsOnce('the first attempt fails');
      };
      const runner = await startGraphile(pgPool, noOp, isBatched);
      await done;
      await runner.stop();
    };
    const put = (payloads: BenchPayload[]) =>
      utils.addJobs(payloads.map((payload) => ({ identifier: 'no_op', payload })));
    return {
      enqueue: (jobs) => inBatches(jobs, put, work),
      drain: (jobs) => runUntil(() => ran.jobs === jobs),
      retries: {
        // It always delays a retry, the first one by 2.7 s.
        async makeDue() {
          const { rows } = await pgPool.query<{ ids: string[] }>(LIST_JOBS);
          await utils.rescheduleJobs(rows[0]?.ids ?? [], { runAt: new Date(0) });
        },
        drain: (jobs) => runUntil(() => ran.total === jobs + failuresOf(work, jobs)),
      },
      async check(jobs) {
        const { rows } = await pgPool.query<{ jobs: number }>(COUNT_JOBS);
        if (!ran.areComplete(jobs) || rows[0]?.jobs !== 0) {
          throw new Error('graphile-worker: not every job ran as often as it should');
        }
      },
      close,
    };
  },
}));
