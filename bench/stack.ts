import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../core/postgres/database.ts';
import { inBatches } from './contenders/contender.ts';
import noOp from './handlers/no-op.ts';
import noOpWide from './handlers/no-op-wide.ts';
import { onBenchStack } from './open-bench-stack.ts';
import type { StackResult } from './result.ts';

export interface StackOptions {
  readonly jobs: number;
  readonly print: (text: string) => void;
}

const ENQUEUE_MANY = 'select count(*) from millrace.enqueue_many($1)';
const COUNT_OPEN = `
  select count(*) filter (where status <> 'succeeded')::integer as open, count(*)::integer as all,
         count(*) filter (where attempts > 1)::integer as again
    from millrace.jobs where job_type = $1`;
const POLL_MS = 25;
/** `count-requests.ts` writes its counts every 50 ms. */
const COUNTS_LATE_MS = 150;

/** Measures the whole local stack: database, SQS, dispatcher and handlers in separate processes. */
export function runStack(options: StackOptions): Promise<StackResult> {
  return onBenchStack(async ({ stack, upSeconds, readCounts: read }) => {
    options.print(`\nthe whole local stack, up after ${upSeconds.toFixed(1)} s, ${options.jobs} jobs`);
    const drains: StackResult['drains'] = [];
    for (const { jobType } of [noOp, noOpWide]) {
      await drain(stack.db, { ...options, jobs: 200, print: () => undefined, jobType, read });
      drains.push(await drain(stack.db, { ...options, jobType, read }));
    }
    return { upSeconds, drains };
  });
}

interface Drain extends StackOptions {
  readonly jobType: string;
  readonly read: () => Promise<Record<string, number>>;
}

async function drain(db: Database, { jobs, print, jobType, read }: Drain): Promise<StackResult['drains'][number]> {
  const before = await read();
  const { rows } = await db.query<{ all: number }>(COUNT_OPEN, [jobType]);
  const started = performance.now();
  await inBatches(jobs, (payloads) =>
    db.query(ENQUEUE_MANY, [JSON.stringify(payloads.map((payload) => ({ job_type: jobType, payload })))]),
  );
  const again = await untilDone(db, jobType, (rows[0]?.all ?? 0) + jobs);
  const seconds = (performance.now() - started) / 1000;
  await wait(COUNTS_LATE_MS);
  const after = await read();
  const requests = Object.entries(after).map(([action, count]) => [action, count - (before[action] ?? 0)] as const);
  const total = requests.reduce((sum, [, count]) => sum + count, 0);
  const parts = requests.filter(([, count]) => count > 0).map(([action, count]) => `${action} ${count}`);
  print(`${jobType.padEnd(12)}${(jobs / seconds).toFixed(0).padStart(6)} jobs/s, ${again} attempted again`);
  print(`${''.padEnd(12)}${(total / jobs).toFixed(3).padStart(6)} SQS requests per job (${parts.join(', ')})`);
  return { handler: jobType, jobsPerSecond: jobs / seconds, again, requestsPerJob: total / jobs };
}

async function untilDone(db: Database, jobType: string, jobs: number): Promise<number> {
  for (;;) {
    const { rows } = await db.query<{ open: number; all: number; again: number }>(COUNT_OPEN, [jobType]);
    if (rows[0]?.open === 0 && rows[0].all === jobs) return rows[0].again;
    await wait(POLL_MS);
  }
}
