import { afterAll, beforeEach } from 'vitest';
import { createLogin, deploy, openEngine } from '../../support/runtime-engine.ts';
import { type CliResult, runCli } from '../run-cli.ts';

export interface Burial {
  readonly jobType?: string;
  readonly routingKey?: string;
  readonly error?: string;
  readonly count?: number;
  readonly payload?: string;
}

const BURY = `
  with buried as (
    insert into millrace.jobs_live
        (job_type, routing_key, payload, status, attempts, max_attempts, claim_no, last_error)
      select $1, $2, $3::jsonb, 'dead_letter', 5, 5, 7, $4 from generate_series(1, $5::integer)
      returning id, claim_no
  ), noted as (
    insert into millrace.dead_letters
        (job_id, claim_no, job_type, routing_key, last_error, error_stacktrace, fingerprint)
      select id, claim_no, $1, $2, $4, 'Error: ' || $4 || E'\\n    at work (work.ts:1:1)', md5($4)
        from buried order by id
  )
  select id::text from buried order by id`;

/** Deploys the handler `mail`, and returns functions to create dead letters and to run commands as an operator. */
export async function openDeadLetters() {
  const engine = await openEngine();
  const { pool, db, test } = engine;
  const operator = await createLogin(test, 'millrace_operator');
  await deploy(db, { jobType: 'mail' });
  afterAll(async () => {
    await engine.close();
    await operator.drop();
  });
  beforeEach(async () => {
    await pool.query(`delete from millrace.jobs_live; delete from millrace.jobs_finished;
      delete from millrace.dead_letters; delete from millrace.operations;
      delete from millrace.audit_log; delete from millrace.job_attempts;
      update millrace.handlers set paused_at = null`);
  });
  const env = { DATABASE_URL: operator.url };
  return {
    ...{ test, pool, db, env, operator },
    /** Runs a command as the operator. */
    run: (...args: string[]): Promise<CliResult> => runCli(args, { env }),
    /** Inserts dead jobs and returns their ids. */
    bury: async ({ jobType = 'mail', routingKey = '', error = 'boom', count = 1, payload = '{}' }: Burial = {}) => {
      const { rows } = await pool.query<{ id: string }>(BURY, [jobType, routingKey, payload, error, count]);
      return rows.map(({ id }) => id);
    },
    /** Inserts the dead letter of a message without a job and returns its number. */
    stray: async (body = '{{', error = 'unreadable'): Promise<string> => {
      const { rows } = await pool.query<{ id: string }>(
        `insert into millrace.dead_letters (raw_body, last_error, fingerprint, queue_name, message_id)
           values ($1, $2, md5($2), 'mail-dlq', gen_random_uuid()::text) returning id::text`,
        [body, error],
      );
      return rows[0]!.id;
    },
    statusOf: async (id: string): Promise<string | undefined> => {
      const { rows } = await pool.query<{ status: string }>('select status from millrace.jobs where id = $1', [id]);
      return rows[0]?.status;
    },
  };
}
