import pg from 'pg';
import { type Job, PgBoss } from 'pg-boss';
import { type Contender, inBatches } from './contender.ts';
import { type BenchPayload, Runs } from './work.ts';

const COUNT_COMPLETED = `select count(*)::integer as jobs from pgboss.job where state = 'completed'`;
export const QUEUE = 'no_op';

/** Installs its schema and a queue, which notifies workers of new jobs if asked to. It runs no upkeep of its own. */
export async function openBoss(connectionString: string, max: number, notify = false): Promise<PgBoss> {
  const options = { connectionString, max, supervise: false, schedule: false };
  const boss = new PgBoss({ ...options, useListenNotify: notify });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE, { notify });
  return boss;
}

export function closeBoss(boss: PgBoss): Promise<void> {
  return boss.stop({ graceful: false, close: true });
}

/** Calls fetch, complete and fail of pg-boss in a loop, without the pauses of its workers; supervision is off. */
export function pgBoss(batch: number, lanes: number): Contender {
  return {
    ...{ system: 'pg-boss', batch, lanes },
    async open(connectionString, work) {
      const boss = await openBoss(connectionString, lanes);
      const ran = new Runs(work);
      const drainOne = async () => {
        for (;;) {
          const jobs = await boss.fetch<BenchPayload>(QUEUE, { batchSize: batch });
          if (jobs.length === 0) return;
          const [failed, succeeded] = idsByOutcome(jobs, ran);
          if (succeeded.length > 0) await boss.complete(QUEUE, succeeded);
          if (failed.length > 0) await boss.fail(QUEUE, failed);
        }
      };
      return {
        enqueue: (jobs) =>
          inBatches(
            jobs,
            (payloads) =>
              boss.insert(
                QUEUE,
                payloads.map((data) => ({ data })),
              ),
            work,
          ),
        drain: async () => {
          await Promise.all(Array.from({ length: lanes }, drainOne));
        },
        async check(jobs) {
          const client = new pg.Client({ connectionString });
          await client.connect();
          const { rows } = await client.query<{ jobs: number }>(COUNT_COMPLETED);
          await client.end();
          if (!ran.areComplete(jobs) || rows[0]?.jobs !== jobs)
            throw new Error('pg-boss: not every job ran as often as it should');
        },
        close: () => closeBoss(boss),
      };
    },
  };
}

/** Runs the jobs; returns the ids of those that failed, then of those that succeeded. */
function idsByOutcome(jobs: readonly Job<BenchPayload>[], ran: Runs): [failed: string[], succeeded: string[]] {
  const failed = new Set(jobs.filter(({ data }) => ran.fails(data)).map(({ id }) => id));
  return [[...failed], jobs.map(({ id }) => id).filter((id) => !failed.has(id))];
}
