import { defineHandler } from 'millrace';
import { afterAll, beforeEach, expect } from 'vitest';
import * as z from 'zod';
import { createLogin, deploy, openEngine } from '../support/runtime-engine.ts';

export const anything = defineHandler({
  jobType: 'anything',
  payload: z.record(z.string(), z.unknown()),
  run: async () => undefined,
});
export const indexPage = defineHandler({ jobType: 'index_page', payload: z.object({}), run: async () => undefined });

const JOBS = `
  select job_type, routing_key, payload::text, priority, max_attempts, unique_key, group_key, traceparent, inserted_by,
         run_at > now() as later, extract(epoch from run_at)::bigint / 86400 as day, start_by - run_at as window
    from millrace.jobs order by id`;

/** Opens a database with the table of an application, emptied before each test, and the application's login. */
export async function openShop() {
  const engine = await openEngine();
  const { pool } = engine;
  const login = await createLogin(engine.test, 'millrace_app');
  await deploy(
    engine.db,
    { jobType: 'index_page', routingKey: 'text' },
    { jobType: 'index_page', routingKey: 'image' },
  );
  await pool.query(`create table orders (name text primary key, cents integer);
    grant usage on schema public to millrace_app; grant all on orders to millrace_app`);
  const empty = async (): Promise<void> => {
    await pool.query('delete from millrace.jobs_live; delete from orders');
  };
  beforeEach(empty);
  afterAll(async () => {
    await engine.close();
    await login.drop();
  });
  return {
    url: login.url,
    pool,
    empty,
    jobs: async () => (await pool.query(JOBS)).rows,
    orders: async () => (await pool.query('select name, cents from orders order by name')).rows,
  };
}

/** Returns all messages of an error, which some clients wrap. */
export function messages(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${messages(error.cause)}` : '';
}

export const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable('expected an error'),
    (error: unknown) => error,
  );
