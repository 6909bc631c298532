import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { inlineCode, readDocument, section, tableBelow } from './documents.ts';

const page = readDocument('docs/coming-from.md');
const codes = inlineCode(page);
const wordsIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word as string);
const own = section(page, 'A table of your own');
const [queries = '', move = ''] = own.blocks.filter(({ language }) => language === 'sql').map(({ code }) => code);
const columns = tableBelow(page, 'A table of your own');
let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query(`
    create table background_jobs (id bigint primary key, type text, payload jsonb, status text,
                                  scheduled_at timestamptz, retry_count integer, max_retries integer);
    insert into background_jobs
      values (1, 'send_email', '{"to": "a"}', 'pending', now() + interval '1 h', 0, 3),
             (2, 'send_email', '{"to": "b"}', 'retrying', null, 2, 3),
             (3, 'send_email', '{"to": "c"}', 'delivered', null, 0, 3),
             (4, 'send_email', '{"to": "d"}', 'pending', null, 0, 0);
    grant select, update, delete on background_jobs to millrace_app`);
});
afterAll(() => database.drop());

async function query(text: string, role = 'none') {
  const client = await database.pool.connect();
  try {
    await client.query(`set role ${role}`);
    return await client.query(text);
  } finally {
    client.release(true);
  }
}

it('docs/coming-from.md names only columns and tables that exist', async () => {
  const { rows } = await query(`
    select a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'millrace'::regnamespace and c.relname in ('jobs', 'job_attempts', 'failed_jobs')`);
  const words = columns.flatMap(([, here]) => wordsIn(here)).filter((word) => !/^millrace\.|^snoozed$/.test(word));
  const tables = codes.flatMap((code) => code.match(/^millrace\.\w+/) ?? []);

  const known = rows.map(({ name }) => name);
  const { rows: missing } = await query(`
    select name from unnest('{${tables}}'::text[]) name where to_regclass(name) is null and not exists (
      select from pg_proc p where p.pronamespace = 'millrace'::regnamespace and 'millrace.' || p.proname = name)`);

  expect(words.length).toBeGreaterThan(15);
  expect(words.filter((word) => !known.includes(word))).toEqual([]);
  expect(missing).toEqual([]);
});

it('the documented statement moves the unfinished rows that no other transaction has locked, once', async () => {
  const worker = await database.pool.connect();
  await worker.query('begin');
  await worker.query('select from background_jobs where id = 4 for update');
  await query(move, 'millrace_app');
  const whileLocked = await query('select id from background_jobs order by id');
  await worker.query('rollback');
  worker.release();

  await query(move, 'millrace_app');
  await query(move, 'millrace_app');

  expect(whileLocked.rows.map(({ id }) => id)).toEqual(['3', '4']);
  const left = await query('select status from background_jobs');
  expect(left.rows).toEqual([{ status: 'delivered' }]);
  const { rows } = await query(`
    select payload ->> 'to' as name, status, max_attempts, unique_key, run_at > now() as later
      from millrace.jobs order by 1`);
  expect(rows).toEqual([
    { name: 'a', status: 'pending', max_attempts: 4, unique_key: 'moved-1', later: true },
    { name: 'b', status: 'pending', max_attempts: 2, unique_key: 'moved-2', later: false },
    { name: 'd', status: 'pending', max_attempts: 1, unique_key: 'moved-4', later: false },
  ]);
});

it('the documented queries answer the questions above them', async () => {
  await query(`
    insert into millrace.jobs (job_type, payload, run_at)
      values ('send_email', '{"to": "e"}', now() - interval '1 h');
    insert into millrace.jobs_live (job_type, status, attempts, claim_no, started_at, lease_expires_at)
      values ('send_email', 'running', 1, 1, now() - interval '1 h', now() + interval '1 h');
    insert into millrace.job_attempts (job_id, attempt, outcome, error_message, delay_seconds)
      values (7, 1, 'failed', 'no mail server', 60), (8, 1, 'snoozed', null, 3600);
    insert into millrace.dead_letters (job_type, last_error, died_at, queue_name, message_id)
      values ('send_email', 'no address', now(), 'q', '1'), ('other', 'old', now() - interval '31 days', 'q', '2')`);
  const texts = queries.split(';\n').filter((text) => text.trim() !== '');

  const results = [];
  for (const text of texts) results.push(await query(text, 'millrace_operator'));

  expect(results[0]?.rows.map(({ status }) => status)).toEqual(['pending', 'running']);
  expect(results.slice(1).map(({ rowCount }) => rowCount)).toEqual([1, 1, 1, 1, 1, 1, 1]);
  const left = await query('select last_error from millrace.failed_jobs');
  expect(left.rows).toEqual([{ last_error: 'no address' }]);
});
