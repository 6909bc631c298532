import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { type Contender, inBatches, RunCount } from './contender.ts';

const COUNT_COMPLETED = `select count(*)::integer as jobs from pgboss.job where state = 'completed'`;
export const QUEUE = 'no_op';

/** Installs its schema and a queue. It runs no upkeep of its own. */
export async function openBoss(connectionString: string, max: number): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString, max, supervise: false, schedule: false });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE);
  return boss;
}

export function closeBoss(boss: PgBoss): Promise<void> {
  return boss.stop({ graceful: false, close: true });
}

/** Calls fetch and complete of pg-boss in a loop, without the pauses of its polling workers; supervision is off. */
export function pgBoss(batch: number, lanes: number): Contender {
  return {
    ...{ system: 'pg-boss', batch, lanes },
    async open(connectionString) {
      const boss = await openBoss(connectionString, lanes);
      const ran = new RunCount();
      const drainOne = async () => {
        for (;;) {
          const jobs = await boss.fetch<{ id: number }>(QUEUE, { batchSize: batch });
          if (jobs.length === 0) return;
          for (const { data } of jobs) ran.add(data.id);
          await boss.complete(
            QUEUE,
            jobs.map(({ id }) => id),
          );
        }
      };
      return {
        enqueue: (jobs) =>
          inBatches(jobs, (payloads) =>
            boss.insert(
              QUEUE,
              payloads.map((data) => ({ data })),
            ),
          ),
        drain: async () => {
          await Promise.all(Array.from({ length: lanes }, drainOne));
        },
        async check(jobs) {
          const client = new pg.Client({ connectionString });
          await client.connect();
          const { rows } = await client.query<{ jobs: number }>(COUNT_COMPLETED);
          await client.end();
          if (!ran.ranOnce(jobs) || rows[0]?.jobs !== jobs) throw new Error('pg-boss: not every job ran once');
        },
        close: () => closeBoss(boss),
      };
    },
  };
}
