import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import type { Outgoing, Queues, SendVerdict } from '../../core/aws/queues.ts';
import { defineHandler, type HandlerOptions } from '../../core/handler/handler.ts';
import type { PayloadSchema } from '../../core/handler/payload.ts';
import { type Log, openLog } from '../../core/log.ts';
import { type Database, openDatabase } from '../../core/postgres/database.ts';
import { type Registration, registerHandlers } from '../../core/registry/register-handlers.ts';
import { createDatabase, type TestDatabase } from './database.ts';
import { ask } from './postgres-server.ts';

/** A migrated database, and the access of the engine by a login that only has the role for it. */
export interface Engine {
  readonly test: TestDatabase;
  /** Connections of the superuser. */
  readonly pool: pg.Pool;
  /** The access of the engine, by a member of millrace_runtime. */
  readonly db: Database;
  readonly runtimeUrl: string;
  readonly log: RecordedLog;
  close(): Promise<void>;
}

export interface RecordedLog extends Log {
  readonly lines: Record<string, unknown>[];
  events(event: string): Record<string, unknown>[];
}

export async function openEngine({ connections = 10 } = {}): Promise<Engine> {
  const test = await createDatabase();
  const login = await createLogin(test, 'millrace_runtime');
  const log = recordLog();
  const db = openDatabase({ connectionString: login.url, max: connections, name: 'test-engine', log });
  const close = async (): Promise<void> => {
    await db.close();
    await test.drop();
    await login.drop();
  };
  return { test, pool: test.pool, db, runtimeUrl: login.url, log, close };
}

/** Creates a login that is a member of one role. Drop it after the database. */
export async function createLogin(test: TestDatabase, role: string) {
  const name = `login_${randomBytes(6).toString('hex')}`;
  await test.pool.query(`create role ${name} login password 'secret' in role ${role}`);
  const url = new URL(test.url);
  url.username = name;
  url.password = 'secret';
  const server = new URL(test.url);
  server.pathname = '/postgres';
  return { name, url: url.href, drop: () => ask(server.href, `drop role ${name}`) };
}

export function recordLog(): RecordedLog {
  const lines: Record<string, unknown>[] = [];
  const log = openLog((line) => lines.push(JSON.parse(line)));
  return { ...log, lines, events: (event) => lines.filter((line) => line.event === event) };
}

const ANYTHING: PayloadSchema = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };

type Options = Partial<HandlerOptions<PayloadSchema>> & { jobType: string };

/** Returns handlers as a deployment registers them. */
export function registrationsOf(handlers: readonly Options[]): Registration[] {
  const definitions = handlers.map((options) => {
    return defineHandler({ payload: ANYTHING, run: async () => undefined, ...options });
  });
  return definitions.map((definition) => {
    const name = `${definition.jobType}${definition.routingKey}`;
    const queueUrl = queueOf(name);
    return { definition, queueUrl, deadLetterQueueUrl: `${queueUrl}-dlq`, functionName: name };
  });
}

/** Registers these handlers, and removes all others. */
export async function deploy(db: Database, ...handlers: Options[]): Promise<void> {
  await registerHandlers({ db, stage: 'local' }, registrationsOf(handlers));
}

/** Returns the address of the queue that `deploy` registers for a handler without a routing key. */
export function queueOf(jobType: string): string {
  return `http://127.0.0.1:1/000000000000/${jobType}`;
}

/** Inserts plain jobs of one type, one second apart, the oldest first; returns their ids. */
export async function insertJobs(pool: pg.Pool, jobType: string, count: number): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into millrace.jobs (job_type, run_at)
       select $1, millrace.clock() - make_interval(secs => 1 + $2 - n) from generate_series(1, $2::integer) n
       returning id`,
    [jobType, count],
  );
  return rows.map(({ id }) => id);
}

/** Sets the clock of the database to this number of seconds from the true time. */
export async function shiftClock(pool: pg.Pool, seconds: number): Promise<void> {
  await pool.query(`create or replace function millrace.clock() returns timestamptz language sql stable parallel safe
    as $$ select statement_timestamp() + interval '${seconds} seconds' $$`);
}

/** Starts an attempt of jobs as if their messages had arrived, for tests that do not test the start. */
export async function markRunning(pool: pg.Pool, ids: readonly string[]): Promise<void> {
  await pool.query(
    `update millrace.jobs_live set status = 'running', started_at = millrace.clock(), attempts = attempts + 1
       where id = any($1) and status = 'dispatched'`,
    [ids],
  );
}

export async function statuses(pool: pg.Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query('select status, count(*)::int as count from millrace.jobs group by 1');
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

/** Queues in memory that record sent messages. They accept every message unless `judge` decides otherwise. */
export interface MemoryQueues extends Queues {
  readonly sent: (Outgoing & { queueUrl: string })[];
  judge: (queueUrl: string, message: Outgoing) => SendVerdict['kind'];
}

export function memoryQueues(): MemoryQueues {
  const queues: MemoryQueues = {
    sent: [],
    judge: () => 'sent',
    send: async (queueUrl, messages) =>
      messages.map((message) => {
        const kind = queues.judge(queueUrl, message);
        if (kind === 'sent') queues.sent.push({ ...message, queueUrl });
        return { id: message.id, kind, reason: kind === 'sent' ? '' : `${kind} by the test` };
      }),
    makeVisible: async () => undefined,
    close: () => undefined,
  };
  return queues;
}
