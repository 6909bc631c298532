import { afterAll, expect, it } from 'vitest';
import { createClient, createDatabase } from '../support/database.ts';

const database = await createDatabase();
afterAll(() => database.drop());

const COUNT = `
  select pg_stat_get_xact_tuples_updated(c.oid)::int as updated, pg_stat_get_xact_tuples_hot_updated(c.oid)::int as hot
    from pg_class c where c.oid = 'millrace.jobs_live'::regclass`;

it('the start of a job updates no index', async () => {
  const client = await createClient(database.url);
  await client.query(`
    insert into millrace.jobs_live
        (job_type, status, max_attempts, claim_no, lease_expires_at, dispatched_at, unique_key)
      select 'mail', 'dispatched', 5, 1, now(), now(), n::text from generate_series(1, 500) n`);

  await client.query('begin');
  await client.query(`
    update millrace.jobs_live
      set status = 'running', attempts = attempts + 1, started_at = now(), updated_at = now(), lease_expires_at = now(),
          message_id = 'm', message_sent_at = now(), request_id = 'r'`);
  const { rows } = await client.query<{ updated: number; hot: number }>(COUNT);
  await client.query('rollback');

  // An update whose page is full moves the row to another page and updates the indexes.
  expect(rows[0]?.updated).toBe(500);
  expect(rows[0]?.hot).toBeGreaterThan(300);
});
