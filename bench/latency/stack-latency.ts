import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { registerRun } from '../../core/dispatch/dispatcher-run.ts';
import { enqueue } from '../../core/enqueue/enqueue.ts';
import { functionName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import type { Database } from '../../core/postgres/database.ts';
import { systemTime } from '../../core/time.ts';
import { accessKey, fixedEnvironment } from '../../local/functions/function-environment.ts';
import { STAGE } from '../../local/state.ts';
import { openPool } from '../contenders/pool.ts';
import timed from '../handlers/timed.ts';
import { type BenchStack, onBenchStack } from '../open-bench-stack.ts';
import type { LatencyRow } from '../result.ts';
import { latencyRow, latencyTable, RATES, STARTS_WITHIN_MS, secondsFor, WARM_UP } from './measure-latency.ts';
import { offer, offered } from './offer.ts';

/** `tick` starts a round only once a minute, so its wait is known without a measurement. */
const MODES = ['auto', 'loop'] as const;
type Mode = (typeof MODES)[number];

const PRODUCERS = 8;
const POLL_MS = 100;
const DISPATCHER = functionName(STAGE, 'dispatcher');
const COUNT_ENDED = `
  select count(*)::integer as ended from millrace.jobs
    where job_type = 'timed' and payload ->> 'part' = $1 and status = 'succeeded'`;
const READ_WAITS = `
  select ((result ->> 'startedAt')::float8 - (payload ->> 'enqueuedAt')::float8) as ms from millrace.jobs
    where job_type = 'timed' and payload ->> 'part' = $1 and status = 'succeeded'`;

/** Measures the time from enqueue to the first line of a handler in the whole local stack, in each mode. */
export async function measureStackLatency(jobs: number, print: (text: string) => void): Promise<LatencyRow[]> {
  const rows: LatencyRow[] = [];
  for (const mode of MODES) rows.push(...(await onBenchStack((bench) => measureMode(bench, mode, jobs))));
  print(latencyTable('the whole local stack, enqueue to start', rows));
  return rows;
}

async function measureMode(bench: BenchStack, mode: Mode, jobs: number): Promise<LatencyRow[]> {
  const { stack } = bench;
  const pool = openPool(stack.databaseUrl, PRODUCERS);
  try {
    if (mode === 'auto') await setMode(bench, mode);
    await measurePart(stack.db, pool, WARM_UP);
    const rows: LatencyRow[] = [];
    for (const rate of RATES) {
      const part = { rate, seconds: secondsFor(jobs) };
      rows.push(latencyRow({ ...part, name: `millrace, stack, ${mode}` }, await measurePart(stack.db, pool, part)));
    }
    return rows;
  } finally {
    await pool.end();
  }
}

/** Replaces the dispatcher, which the stack always starts in mode `loop`, and starts it: the next tick may be late. */
async function setMode({ stack, bundles }: BenchStack, mode: Mode): Promise<void> {
  const { databaseUrl, sqsEndpoint, lambdaAccessKeyId, runner, db } = stack;
  const addresses = { sqsEndpoint, databaseUrl, lambdaEndpoint: runner.endpoint };
  const environment = { ...fixedEnvironment(addresses), ...accessKey(lambdaAccessKeyId), MILLRACE_DISPATCH_MODE: mode };
  const bundle = join(bundles, DISPATCHER, 'index.mjs');
  runner.replaceFunction({ name: DISPATCHER, bundle, ...OWN_FUNCTIONS.dispatcher, environment });
  // The run in mode `loop` stops after its round.
  await registerRun(db);
  const pool = openPool(databaseUrl, 1);
  // An enqueued job makes the new run stay: without activity, it would stop after its first round.
  await enqueue(pool, timed, { part: 'wake' });
  await pool.end();
  await runner.invoke(DISPATCHER, {}, 'Event');
}

/** Offers jobs at a rate; returns the waits of those that started in time, in milliseconds. */
async function measurePart(
  db: Database,
  pool: ReturnType<typeof openPool>,
  { rate, seconds }: { readonly rate: number; readonly seconds: number },
): Promise<number[]> {
  const part = randomUUID();
  const send = () => enqueue(pool, timed, { part, enqueuedAt: Date.now() });
  await offer({ rate, seconds, send, time: systemTime, random: Math.random });
  const end = systemTime.now() + STARTS_WITHIN_MS;
  while (systemTime.now() < end) {
    const { rows } = await db.query<{ ended: number }>(COUNT_ENDED, [part]);
    if (rows[0]?.ended === offered({ rate, seconds })) break;
    await systemTime.sleep(POLL_MS);
  }
  const { rows } = await db.query<{ ms: number }>(READ_WAITS, [part]);
  return rows.map(({ ms }) => ms);
}
