import { afterAll, beforeEach } from 'vitest';
import { createLogin, deploy, openEngine } from '../support/runtime-engine.ts';

export interface Verdict {
  readonly id: string;
  readonly deduplicated: boolean;
  readonly replaced: boolean;
}
interface Queries {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}
export interface UniqueWorld extends Awaited<ReturnType<typeof openEngine>> {
  /** Address of a database login of an application. */
  readonly appUrl: string;
  /** Enqueues a job with these further arguments of millrace.enqueue. */
  enqueue(options: string, payload?: unknown, on?: Queries): Promise<Verdict>;
  /** Changes the status of all jobs. */
  move(status: JobState): Promise<void>;
}

const IN_FLIGHT = `claim_no = 1, lease_expires_at = now() + interval '1 hour'`;
const TO = {
  pending: null,
  dispatched: `update millrace.jobs_live set status = 'dispatched', ${IN_FLIGHT}`,
  running: `update millrace.jobs_live set status = 'running', attempts = 1, started_at = now(), ${IN_FLIGHT}`,
  failed: `update millrace.jobs_live
    set status = 'failed', attempts = 1, started_at = now(), next_retry_at = now() + interval '1 hour'`,
  dead_letter: `update millrace.jobs_live set status = 'dead_letter', attempts = 1, started_at = now(), claim_no = 1`,
  skipped: 'select millrace.finish_late(array_agg(id)) from millrace.jobs_live',
  cancelled: 'select millrace.cancel(id) from millrace.jobs_live',
} as const;

export type JobState = keyof typeof TO;
export const STATES = Object.keys(TO) as JobState[];

/** Opens a database with two handlers of `mail`, which is empty before each test. */
export async function openUniqueWorld(): Promise<UniqueWorld> {
  const engine = await openEngine();
  const { pool, db } = engine;
  const login = await createLogin(engine.test, 'millrace_app');
  await deploy(db, { jobType: 'mail', maxAttempts: 3 }, { jobType: 'mail', routingKey: 'fast', maxAttempts: 7 });
  afterAll(async () => {
    await engine.close();
    await login.drop();
  });
  beforeEach(async () => {
    await pool.query('delete from millrace.jobs_live; delete from millrace.jobs_finished');
    await pool.query('delete from millrace.unique_keys; delete from millrace.job_events');
  });
  return {
    ...engine,
    appUrl: login.url,
    enqueue: async (options, payload = {}, on = pool) => {
      const text = `select * from millrace.enqueue('mail', $1::jsonb, ${options})`;
      return (await on.query(text, [JSON.stringify(payload)])).rows[0] as Verdict;
    },
    move: async (state) => {
      const change = TO[state];
      if (change !== null) await pool.query(change);
    },
  };
}
