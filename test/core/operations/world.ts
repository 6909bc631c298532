import { afterAll, beforeEach } from 'vitest';
import { OPERATION_STEP, workOffOperations } from '../../../core/dispatch/work-off-operations.ts';
import type { JobFilter } from '../../../core/look/job-filter.ts';
import { stepOperation } from '../../../core/operations/operation.ts';
import { startOperation } from '../../../core/operations/start-operation.ts';
import { emptyTables } from '../../../core/testing/empty-tables.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';
import { stillTime } from '../../support/still-time.ts';

type Start = Parameters<typeof startOperation>[1];

/** A filter with these parts; of all jobs without any. */
export function jobs(filter: Partial<JobFilter> = {}): Start['filter'] {
  return { statuses: [], jobTypes: [], ...filter } as Start['filter'];
}

/** A database with a handler for `mail`, and operations on its jobs. */
export async function openOperations() {
  const engine = await openEngine();
  const { pool, db, log } = engine;
  afterAll(() => engine.close());
  beforeEach(async () => {
    await emptyTables(pool);
    await pool.query('delete from millrace.audit_log');
    await deploy(db, { jobType: 'mail' });
    log.lines.length = 0;
  });
  const start = (action: Start['action'], given: Partial<Start> = {}) =>
    startOperation(db, { action, filter: jobs(), ...given });
  return {
    ...engine,
    start,
    /** Inserts jobs of `mail` in this status; returns their ids. */
    insert: async (status: string, count = 1): Promise<string[]> => {
      const { rows } = await pool.query<{ id: string }>(insertInto(status), [status, count]);
      return rows.map(({ id }) => id);
    },
    round: () => workOffOperations({ db, log, time: stillTime() }),
    step: (id: string, most = OPERATION_STEP) => stepOperation(db, id, most),
    /** Starts an operation and steps until it ends. */
    finish: async (action: Start['action'], given: Partial<Start> = {}) => {
      const id = await start(action, given);
      for (let steps = 0; steps < 20; steps++) {
        const now = await stepOperation(db, id, OPERATION_STEP);
        if (now?.status !== 'running') return now;
      }
      throw new Error(`operation ${id} does not end`);
    },
    statusesOf: async (ids: readonly string[]) => {
      const { rows } = await pool.query('select id::text, status from millrace.jobs where id = any($1)', [ids]);
      const byId = new Map(rows.map(({ id, status }) => [id, status]));
      return ids.map((id) => byId.get(id));
    },
    audit: async (): Promise<string[]> => {
      const { rows } = await pool.query('select action, count(*) as n from millrace.audit_log group by 1 order by 1');
      return rows.map(({ action, n }) => `${action} ${n}`);
    },
  };
}

function insertInto(status: string): string {
  return INSERT.replace('jobs_live', /succeeded|skipped|cancelled/.test(status) ? 'jobs_finished' : 'jobs_live');
}

const INSERT = `
  with job as (
    insert into millrace.jobs_live (slot, job_type, status, claim_no, attempts, lease_expires_at, dispatched_at,
        started_at, next_retry_at, last_error, finished_at, max_attempts)
      select case when f.finished then 3 else 0 end, 'mail', $1, case when f.waits then null else 1 end,
             case when f.waits then 0 else 1 end, case when f.flies then millrace.clock() + interval '1 hour' end,
             case when f.flies then millrace.clock() end, case when $1 = 'running' then millrace.clock() end,
             case when $1 = 'failed' then millrace.clock() + interval '1 hour' end,
             case when $1 in ('failed', 'dead_letter', 'cancelled') then 'Error: boom' end,
             case when f.finished then millrace.clock() end, 5
        from generate_series(1, $2::integer), lateral (
               select $1 in ('succeeded', 'skipped', 'cancelled') as finished, $1 = 'pending' as waits,
                      $1 in ('dispatched', 'running') as flies) f
      returning id, status
  ), dead as (
    insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, fingerprint)
      select id, 1, 'mail', '', 'Error: boom', md5('boom') from job where status = 'dead_letter'
  )
  select id::text from job order by id`;
