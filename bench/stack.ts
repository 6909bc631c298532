import { chmod, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../core/postgres/database.ts';
import { openChildren } from '../local/processes/children.ts';
import { openStack } from '../local/stack.ts';
import { inBatches } from './contenders/contender.ts';
import noOp from './handlers/no-op.ts';
import noOpWide from './handlers/no-op-wide.ts';

export interface StackOptions {
  readonly jobs: number;
  /** How many jobs are enqueued one by one, to measure the time from enqueue to start. */
  readonly singles: number;
  readonly print: (text: string) => void;
}

const ENQUEUE_MANY = 'select count(*) from millrace.enqueue_many($1)';
const ENQUEUE_ONE = 'select id from millrace.enqueue($1)';
const COUNT_OPEN = `
  select count(*) filter (where status <> 'succeeded')::integer as open, count(*)::integer as all,
         count(*) filter (where attempts > 1)::integer as again
    from millrace.jobs where job_type = $1`;
const READ_WAITS = `
  select (extract(epoch from started_at - created_at) * 1000)::float8 as ms
    from millrace.jobs where id = any($1::bigint[]) order by ms`;
const LONGEST_PAUSE_MS = 200;
const POLL_MS = 25;
/** `count-requests.ts` writes its counts every 50 ms. */
const COUNTS_LATE_MS = 150;

/** Measures the whole local stack: database, SQS, dispatcher and handlers in separate processes. */
export async function runStack(options: StackOptions): Promise<void> {
  const project = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  await chmod(project, 0o755);
  await mkdir(join(project, 'functions'));
  await symlink(join(import.meta.dirname, 'handlers'), join(project, 'functions', 'handlers'));
  const counts = join(project, 'requests.json');
  process.env.MILLRACE_BENCH_COUNTS = counts;
  process.env.NODE_OPTIONS = `--import=${new URL('count-requests.ts', import.meta.url).href}`;
  const children = openChildren();
  try {
    const { signal } = new AbortController();
    const quiet = { onEvent: () => undefined, printLine: () => undefined, stop: signal, halt: signal };
    const begun = performance.now();
    const stack = await openStack({ children, project, retryFactor: 1, ...quiet });
    const seconds = (performance.now() - begun) / 1000;
    options.print(`\nthe whole local stack, up after ${seconds.toFixed(1)} s, ${options.jobs} jobs`);
    const read = () => readCounts(counts);
    for (const { jobType } of [noOp, noOpWide]) {
      await drain(stack.db, { ...options, jobs: 200, print: () => undefined, jobType, read });
      await drain(stack.db, { ...options, jobType, read });
    }
    await measureSingles(stack.db, options);
    await stack.close();
  } finally {
    await children.close();
    await rm(project, { recursive: true, force: true });
  }
}

interface Drain extends StackOptions {
  readonly jobType: string;
  readonly read: () => Promise<Record<string, number>>;
}

async function drain(db: Database, { jobs, print, jobType, read }: Drain): Promise<void> {
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
}

async function untilDone(db: Database, jobType: string, jobs: number): Promise<number> {
  for (;;) {
    const { rows } = await db.query<{ open: number; all: number; again: number }>(COUNT_OPEN, [jobType]);
    if (rows[0]?.open === 0 && rows[0].all === jobs) return rows[0].again;
    await wait(POLL_MS);
  }
}

/** Enqueues one job after another, at random moments of the dispatcher's round. */
async function measureSingles(db: Database, { singles, print }: StackOptions): Promise<void> {
  const ids: string[] = [];
  for (let number = 0; number < singles; number++) {
    const { rows } = await db.query<{ id: string }>(ENQUEUE_ONE, [noOp.jobType]);
    ids.push(rows[0]?.id ?? '');
    await wait(Math.random() * LONGEST_PAUSE_MS);
  }
  const { rows: all } = await db.query<{ all: number }>(COUNT_OPEN, [noOp.jobType]);
  await untilDone(db, noOp.jobType, all[0]?.all ?? 0);
  const { rows } = await db.query<{ ms: number }>(READ_WAITS, [ids]);
  const at = (share: number) => rows[Math.min(rows.length - 1, Math.floor(rows.length * share))]?.ms.toFixed(0);
  print(`enqueue to start of ${singles} single jobs: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (a round every second)`);
}

async function readCounts(file: string): Promise<Record<string, number>> {
  return JSON.parse(await readFile(file, 'utf8').catch(() => '{}'));
}
