import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { type Contender, inBatches, RunCount } from './contender.ts';
import { openPool } from './pool.ts';

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

/** Takes and finishes many jobs at once, or each by itself, which is its default. */
export const graphileWorkers: readonly Contender[] = [true, false].map((isBatched) => ({
  ...{ system: 'graphile-worker', batch: isBatched ? BATCHED.localQueue.size : undefined, lanes: CONCURRENCY },
  async open(connectionString) {
    const { pgPool, utils, close } = await openGraphile(connectionString, CONCURRENCY + 1);
    const ran = new RunCount();
    return {
      enqueue: (jobs) =>
        inBatches(jobs, (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: 'no_op', payload })))),
      async drain(jobs) {
        const { promise: done, resolve } = Promise.withResolvers<void>();
        const preset = {
          worker: { concurrentJobs: CONCURRENCY, logger, ...(isBatched && BATCHED) },
        };
        const noOp = async (payload: unknown) => {
          if (ran.add((payload as { id: number }).id) === jobs) resolve();
        };
        const runner = await run({ pgPool, preset, taskList: { no_op: noOp }, noHandleSignals: true });
        await done;
        await runner.stop();
      },
      async check(jobs) {
        const { rows } = await pgPool.query<{ jobs: number }>(COUNT_JOBS);
        if (!ran.ranOnce(jobs) || rows[0]?.jobs !== 0) throw new Error('graphile-worker: not every job ran once');
      },
      close,
    };
  },
}));
