import { afterAll, beforeEach } from 'vitest';
import { createClient } from '../support/database.ts';
import { createLogin, deploy, openEngine } from '../support/runtime-engine.ts';

/** Opens a database with the handler `mail`, emptied before each test, and an operator's login for SQL. */
export async function openOperator() {
  const engine = await openEngine();
  const { pool } = engine;
  const login = await createLogin(engine.test, 'millrace_operator');
  await deploy(engine.db, { jobType: 'mail' });
  afterAll(async () => {
    await engine.close();
    await login.drop();
  });
  beforeEach(async () => {
    await pool.query(`delete from millrace.jobs_live; delete from millrace.jobs_finished;
      delete from millrace.dead_letters; delete from millrace.audit_log;
      delete from millrace.cancel_requests; delete from millrace.job_attempts; delete from millrace.job_events`);
  });
  return {
    engine,
    login,
    /** Returns the first column of the first row of the operator's query. */
    ask: async (sql: string, ...values: unknown[]) => {
      const client = await createClient(login.url);
      return Object.values((await client.query<Record<string, unknown>>(sql, values)).rows[0] ?? {})[0];
    },
    job: async (id: string) => (await pool.query('select * from millrace.jobs where id = $1', [id])).rows[0],
    letters: async () => (await pool.query('select * from millrace.dead_letters order by id')).rows,
  };
}
