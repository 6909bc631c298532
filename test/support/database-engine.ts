import { afterAll, beforeEach } from 'vitest';
import { z } from 'zod';
import type { Dispatched } from '../../core/aws/functions.ts';
import { encodeMessage } from '../../core/aws/message.ts';
import { dispatch } from '../../core/dispatch/dispatch.ts';
import { defineHandler, type HandlerDefinition, type RunContext } from '../../core/handler/handler.ts';
import { retry } from '../../core/handler/retry-policy.ts';
import { MAX_RECEIVE_COUNT } from '../../core/handler/timing.ts';
import { type Log, openLog } from '../../core/log.ts';
import { type Database, openDatabase } from '../../core/postgres/database.ts';
import { readEpoch } from '../../core/postgres/epoch.ts';
import { registerHandlers } from '../../core/registry/register-handlers.ts';
import type { BatchDeps } from '../../core/run/batch.ts';
import { type Rescued, rescue } from '../../core/run/rescue-lost.ts';
import { runBatch } from '../../core/run/run-batch.ts';
import type { SqsRecord } from '../../core/run/sqs-event.ts';
import { emptyTables } from '../../core/testing/empty-tables.ts';
import { systemTime, type Time } from '../../core/time.ts';
import { createDatabase, type TestDatabase } from './database.ts';
import { type MemoryQueues, openMemoryQueues } from './memory-queues.ts';

/** A job's row, live or finished, as text and numbers; times are in seconds from the clock of the test. */
export interface JobState {
  readonly status: string;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly claim_no: string | null;
  readonly last_error: string | null;
  readonly result: unknown;
  readonly message_id: string | null;
  readonly request_id: string | null;
  readonly suspect: boolean;
  readonly losses: number;
  readonly due_in: number | null;
  readonly updated_at: string;
}

/** The whole engine on its own database, with real SQL, queues in memory, and a clock that tests advance. */
export interface Engine {
  readonly database: TestDatabase;
  readonly db: Database;
  readonly queues: MemoryQueues;
  /** The handler `work`, whose runs call `engine.work`. */
  readonly definition: HandlerDefinition;
  readonly epoch: string;
  /** What a run of `work` does. */
  work: (context: RunContext<unknown>) => unknown;
  /** Ids of the jobs that ran, in order. */
  readonly runs: string[];
  readonly lines: Record<string, unknown>[];
  sql<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Deletes all jobs and messages and resets the clock, as before every test. */
  clear(): Promise<void>;
  /** Advances the clock by this number of seconds. */
  advance(seconds: number): Promise<void>;
  enqueue(options?: { payload?: unknown; maxAttempts?: number; jobType?: string }): Promise<string>;
  dispatch(): Promise<Dispatched>;
  rescue(): Promise<Rescued>;
  /** Enqueues `count` jobs, claims and sends them, and receives their messages. Requires empty queues. */
  deliver(count: number, options?: { maxAttempts?: number; payload?: unknown }): Promise<Delivered>;
  /** Runs one batch; returns the ids of the messages that stay in SQS, and whether the process ended. */
  run(records: readonly SqsRecord[], options?: RunOptions): Promise<Ran>;
  state(id: string): Promise<JobState>;
  /** Returns the body of a message as the dispatcher would send it. */
  body(jobId: string, claimNo: string, epoch?: string): string;
}

export interface Delivered {
  readonly ids: string[];
  readonly records: SqsRecord[];
}

export interface RunOptions {
  readonly requestId?: string;
  readonly remainingMs?: () => number;
  readonly deps?: Partial<BatchDeps>;
}

export interface Ran {
  readonly failed: string[];
  readonly shown: string[];
  readonly exited: boolean;
}

export const QUEUE = 'memory://work';

/** Waits a hundredth of the given time, so that timeouts of seconds end in milliseconds. */
export const hastyTime: Time = {
  now: () => systemTime.now() * 100,
  sleep: (ms, signal) => systemTime.sleep(ms / 100, signal),
};

const READ_STATE = `
  select status, attempts, max_attempts, claim_no::text, last_error, result, message_id, request_id, suspect, losses,
         extract(epoch from due_at - millrace.clock())::float8 as due_in, updated_at::text
    from millrace.jobs where id = $1`;

const TURN_CLOCK = `
  create table public.test_clock (shift interval not null);
  insert into public.test_clock values ('0');
  grant select on public.test_clock to public;
  create or replace function millrace.clock() returns timestamptz language sql stable parallel safe
    as 'select statement_timestamp() + (select shift from public.test_clock)'`;

/** Opens an engine for this test file; empties it before each test and closes it after the last. */
export async function openDatabaseEngine(options: { timeout?: string; maxAttempts?: number } = {}): Promise<Engine> {
  const database = await createDatabase();
  const lines: Record<string, unknown>[] = [];
  const log: Log = openLog((line) => lines.push(JSON.parse(line) as Record<string, unknown>));
  const db = openDatabase({ connectionString: database.url, max: 4, name: 'engine-test', log });
  afterAll(async () => {
    await db.close();
    await database.drop();
  });
  await database.pool.query(TURN_CLOCK);
  const queues = openMemoryQueues();
  const definition = defineHandler({
    jobType: 'work',
    payload: z.unknown(),
    timeout: options.timeout ?? '30s',
    maxAttempts: options.maxAttempts ?? 5,
    retry: retry.fixed('1m'),
    run: async (context) => {
      engine.runs.push(context.jobId);
      return engine.work(context);
    },
  });
  const address = { queueUrl: QUEUE, deadLetterQueueUrl: `${QUEUE}-dlq`, functionName: 'work' };
  await registerHandlers({ db, stage: 'local' }, [{ definition, ...address }]);
  const epoch = await readEpoch(db);
  const random = () => 0.5;
  let requests = 0;
  const clear = async () => {
    queues.purge();
    Object.assign(queues, { fate: () => 'sent', hook: () => undefined, receiveLimit: MAX_RECEIVE_COUNT });
    engine.work = () => undefined;
    engine.runs.length = 0;
    lines.length = 0;
    await database.pool.query("update public.test_clock set shift = '0'");
    await emptyTables(db);
  };
  beforeEach(clear);
  const engine: Engine = {
    ...{ database, db, queues, definition, epoch, lines, clear },
    work: () => undefined,
    runs: [],
    sql: async (text, values) => (await database.pool.query(text, values)).rows,
    advance: async (seconds) => {
      await database.pool.query('update test_clock set shift = shift + make_interval(secs => $1)', [seconds]);
    },
    enqueue: async ({ payload = {}, maxAttempts = null, jobType = 'work' } = {}) => {
      const values = [jobType, JSON.stringify(payload), maxAttempts];
      const [row] = await engine.sql<{ id: string }>(
        'insert into millrace.jobs (job_type, payload, max_attempts) values ($1, $2, $3) returning id::text',
        values,
      );
      return row!.id;
    },
    dispatch: () => dispatch({ db, queues, log, random: () => 1 }, 1000),
    rescue: () => rescue({ db, random }),
    deliver: async (count, job) => {
      const ids: string[] = [];
      for (let n = 0; n < count; n++) ids.push(await engine.enqueue(job));
      await engine.dispatch();
      return { ids, records: queues.receive(QUEUE, count) };
    },
    run: async (records, { requestId = `request-${++requests}`, remainingMs = () => 600_000, deps } = {}) => {
      const before = queues.shown.length;
      let exited = false;
      const answer = await runBatch(
        {
          ...{ definition, queueUrl: QUEUE, db, queues, time: systemTime, log, random },
          exit: () => {
            exited = true;
          },
          ...deps,
        },
        { Records: records },
        { awsRequestId: requestId, getRemainingTimeInMillis: remainingMs },
      );
      const failed = answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
      queues.acknowledge(QUEUE, records, failed);
      return { failed, shown: queues.shown.slice(before), exited };
    },
    state: async (id) => {
      const [row] = await engine.sql<JobState>(READ_STATE, [id]);
      if (row === undefined) throw new Error(`job ${id} does not exist`);
      return row;
    },
    body: (jobId, claimNo, of = epoch) => encodeMessage({ epoch: of, jobId, claimNo }),
  };
  return engine;
}
