import { runDispatcher } from '../../core/dispatch/dispatcher.ts';
import { registerRun } from '../../core/dispatch/dispatcher-run.ts';
import { enqueue } from '../../core/enqueue/enqueue.ts';
import { systemTime } from '../../core/time.ts';
import { openGraphile, startGraphile } from '../contenders/graphile-worker.ts';
import { HandOver } from '../contenders/hand-over.ts';
import { connect, handleFrom, log, prepare, QUEUE_URL } from '../contenders/millrace.ts';
import { openBoss, QUEUE } from '../contenders/pg-boss.ts';
import { openPool } from '../contenders/pool.ts';
import type { BenchPayload } from '../contenders/work.ts';

/** A job system whose workers run while jobs arrive. */
export interface LiveSystem {
  /** Enqueues one job by the system's own call. */
  send(id: number): Promise<unknown>;
  close(): Promise<unknown>;
}

/** Opens a system in an empty database; `started` is called at the start of each job. */
type OpenLive = (connectionString: string, started: (id: number) => void) => Promise<LiveSystem>;

const PRODUCERS = 8;
const LANES = 4;
const BATCH = 10;
/** The default of the dispatcher. */
const POLL_INTERVAL_MS = 1000;
/** Longer than any measurement. */
const WINDOW_MS = 86_400_000;
/** The shortest that pg-boss accepts. */
const BOSS_POLL_SECONDS = 0.5;
const BOSS_BATCH = 100;
const STOP_MS = 10_000;

/** The systems by the names in a report. */
export const LIVE_SYSTEMS: Readonly<Record<string, OpenLive>> = {
  'millrace, engine': openMillrace,
  'pg-boss, polling': (url, started) => openLiveBoss(url, started, false),
  'pg-boss, notify': (url, started) => openLiveBoss(url, started, true),
  'graphile-worker': openLiveGraphile,
};

/** The loop of the dispatcher with its default interval, and handlers that get messages from memory. */
async function openMillrace(connectionString: string, started: (id: number) => void): Promise<LiveSystem> {
  const { db, definition } = await prepare(connectionString, BATCH, ({ id }) => started(id));
  const pool = openPool(connectionString, PRODUCERS);
  const dispatcher = connect(connectionString);
  const lanes = Array.from({ length: LANES }, () => connect(connectionString));
  const queue = new HandOver();
  queue.expect(Number.POSITIVE_INFINITY);
  const common = { queues: queue, time: systemTime, log, random: Math.random };
  const settings = { mode: 'loop', pollIntervalMs: POLL_INTERVAL_MS, windowMs: WINDOW_MS } as const;
  const running = [
    runDispatcher({ ...common, db: dispatcher }, settings),
    ...lanes.map((own) =>
      handleFrom({ ...common, definition, queueUrl: QUEUE_URL, db: own, exit: () => undefined }, queue, BATCH),
    ),
  ];
  return {
    send: (id) => enqueue(pool, definition, { id }),
    async close() {
      await registerRun(db);
      await running[0];
      queue.expect(0);
      await Promise.all(running);
      await Promise.all([pool.end(), ...[db, dispatcher, ...lanes].map((one) => one.close())]);
    },
  };
}

/** `work` of pg-boss, which fetches the next batch at once after a full one. */
async function openLiveBoss(url: string, started: (id: number) => void, notify: boolean): Promise<LiveSystem> {
  const boss = await openBoss(url, PRODUCERS + LANES, notify);
  const options = { batchSize: BOSS_BATCH, localConcurrency: LANES, pollingIntervalSeconds: BOSS_POLL_SECONDS };
  await boss.work<BenchPayload>(QUEUE, { ...options, burstWhenBatchFull: true }, async (jobs) => {
    for (const { data } of jobs) started(data.id);
  });
  return {
    send: (id) => boss.send(QUEUE, { id }),
    close: () => boss.stop({ graceful: true, close: true, timeout: STOP_MS }),
  };
}

/** Its defaults, with 24 jobs at once: Postgres notifies it of each job. */
async function openLiveGraphile(connectionString: string, started: (id: number) => void): Promise<LiveSystem> {
  const { pgPool, utils, close } = await openGraphile(connectionString, PRODUCERS + LANES);
  const noOp = async (payload: unknown) => started((payload as BenchPayload).id);
  const runner = await startGraphile(pgPool, noOp, false);
  return {
    send: (id) => utils.addJob('no_op', { id }),
    async close() {
      await runner.stop();
      await close();
    },
  };
}
