import { type EnqueueClient, rowsOf } from '../enqueue/enqueue-client.ts';
import type { HandlerAddress } from '../handler/naming.ts';
import type { JobStatus } from '../job.ts';

/** A job, as it was enqueued. */
export interface EnqueuedJob extends HandlerAddress {
  /** Job id, a decimal string. */
  readonly id: string;
  readonly payload: unknown;
  readonly status: JobStatus;
  readonly priority: number;
  readonly maxAttempts: number;
  readonly runAt: Date;
  readonly startBy: Date | null;
  readonly uniqueKey: string | null;
  readonly groupKey: string | null;
}

/** The jobs that a client sees. */
export interface Seen {
  /** Whether the client is in a transaction. `jobs` are then those that this transaction inserted. */
  readonly inTransaction: boolean;
  readonly jobs: readonly EnqueuedJob[];
  /** The jobs that the client sees besides those. */
  readonly others: readonly EnqueuedJob[];
}

// The statements run in the caller's session: with any search path, and with any parsers of its driver.
const BEGIN_OF_TRANSACTION = `select pg_catalog.transaction_timestamp()::pg_catalog.text as begun, $1::pg_catalog.text`;

// A row that this session sees, and whose transaction is in progress, is a row of its own transaction. xmin has 32 bits
// of the 64 that pg_xact_status expects. Finished jobs have left this table, and count as those of other transactions.
const LIST_JOBS = `
  select pg_catalog.transaction_timestamp()::pg_catalog.text as begun, (
    select pg_catalog.json_agg(pg_catalog.json_build_object('id', j.id::pg_catalog.text, 'jobType', j.job_type,
        'routingKey', j.routing_key, 'payload', j.payload, 'status', j.status, 'priority', j.priority,
        'maxAttempts', j.max_attempts, 'runAt', pg_catalog.date_part('epoch', j.run_at),
        'startBy', pg_catalog.date_part('epoch', j.start_by), 'uniqueKey', j.unique_key, 'groupKey', j.group_key,
        'isOwn', j.is_own) order by j.id)::pg_catalog.text
      from (
        select l.*, pg_catalog.pg_xact_status((
            pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::pg_catalog.text::pg_catalog.int8
              / 4294967296 * 4294967296 + l.xmin::pg_catalog.text::pg_catalog.int8
          )::pg_catalog.text::pg_catalog.xid8) = 'in progress' as is_own
          from millrace.jobs_live l
        union all
        select f.*, false from millrace.jobs_finished f) j
      where $1::pg_catalog.text = '' or j.job_type = $1::pg_catalog.text
  ) as jobs`;

interface Answer {
  readonly begun: string;
  readonly jobs: string | null;
}

interface ListedJob extends Omit<EnqueuedJob, 'runAt' | 'startBy'> {
  readonly runAt: number;
  readonly startBy: number | null;
  readonly isOwn: boolean | null;
}

/**
 * Returns the jobs of a job type, or all with `''`, by id. Two statements of one transaction have the same begin, and
 * two statements outside of any never do.
 */
export async function seeJobs(client: EnqueueClient, jobType: string): Promise<Seen> {
  const first = await answer(client, BEGIN_OF_TRANSACTION, '');
  const second = await answer(client, LIST_JOBS, jobType);
  const inTransaction = first.begun === second.begun;
  const listed = JSON.parse(second.jobs ?? '[]') as ListedJob[];
  const isOwn = (job: ListedJob) => !inTransaction || job.isOwn === true;
  return {
    inTransaction,
    jobs: listed.filter(isOwn).map(toJob),
    others: listed.filter((job) => !isOwn(job)).map(toJob),
  };
}

async function answer(client: EnqueueClient, text: string, jobType: string): Promise<Answer> {
  return rowsOf(await client.query(text, [jobType]))[0] as Answer;
}

function toJob({ isOwn: _isOwn, runAt, startBy, ...job }: ListedJob): EnqueuedJob {
  return { ...job, runAt: toDate(runAt), startBy: startBy === null ? null : toDate(startBy) };
}

function toDate(epochSeconds: number): Date {
  return new Date(Math.round(epochSeconds * 1000));
}
