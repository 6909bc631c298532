import { beforeAll, expect, it } from 'vitest';
import { openBothWays } from './api-world.ts';

const { pool, byApi, byDatabase, keyOf } = await openBothWays();

const BURY = `
  with buried as (
    insert into millrace.jobs_live (job_type, payload, status, attempts, max_attempts, claim_no, last_error)
      select $1, '{"n": 12345678901234567890.10}', 'dead_letter', 5, 5, 7, $2 from generate_series(1, $3::integer)
      returning id, claim_no
  ), noted as (
    insert into millrace.dead_letters 
        (job_id, claim_no, job_type, routing_key, last_error, error_stacktrace, fingerprint)
      select id, claim_no, $1, '', $2, 'Error: ' || $2 || E'\\n    at work (work.ts:1:1)', md5($2) from buried
  )
  select id::text from buried order by id`;

async function bury(jobType = 'mail', error = 'boom', count = 1): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(BURY, [jobType, error, count]);
  return rows.map(({ id }) => id);
}

/** Creates dead letters of every kind, with the same ids on every call. */
async function seed(): Promise<void> {
  await pool.query(`truncate millrace.jobs, millrace.dead_letters, millrace.operations, millrace.audit_log,
    millrace.job_attempts restart identity; alter sequence millrace.job_ids restart;
    update millrace.handlers set paused_at = null`);
  await bury('mail', 'boom', 3);
  await bury('mail', 'the disk is full');
  await bury('gone', 'boom');
  await pool.query(`insert into millrace.jobs (job_type) values ('any')`);
  await pool.query(
    `insert into millrace.dead_letters (raw_body, last_error, fingerprint, queue_name, message_id)
       values ('{{', 'unreadable', md5('unreadable'), 'mail-dlq', 'm-1')`,
  );
  await pool.query(
    `insert into millrace.operations (kind, filter, status, finished_at, expected_count, done_count, rate_per_second)
       values ('redrive', '{}', 'done', now(), 2, 2, null),
         ('redrive', '{"job_types": ["mail"]}', 'running', null, 4, 0, 0.0001)`,
  );
}
beforeAll(seed);

const plain = (text: string) =>
  text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME').replaceAll(/\blogin_\w+|postgres|key:\w+/g, 'WHO');

const group = '65079b006e85a7e798abecb99e47c154';

it.each([
  [['dlq']],
  [['dlq', '--json']],
  [['dlq', '--fail-if-any', '--json', '--limit', '1']],
  [['dlq', 'groups', '--job-type', 'gone', '--since', '1h', '--json']],
  [['dlq', 'groups', '--since', '2100-01-01', '--fail-if-any']],
  [['dlq', 'list']],
  [['dlq', 'list', '--json', '--limit', '2']],
  [['dlq', 'list', '--error', 'DISK, IS', '--json']],
  [['dlq', 'list', '--error', 'DISK is', '--routing-key', '', '--json']],
  [['dlq', 'list', '--id', '1,2', '--since', '1d', '--group', group.slice(0, 8), '--json']],
  [['dlq', 'list', '--group', 'ffff']],
  [['dlq', 'show', '1']],
  [['dlq', 'show', '1', '--json']],
  [['dlq', 'show', '6']],
  [['dlq', 'show', '999']],
  [['dlq', 'show', '--stray', '6']],
  [['dlq', 'show', '--stray', '6', '--json']],
  [['dlq', 'show', '--stray', '1']],
  [['dlq', 'show', group]],
  [['dlq', 'show', group.slice(0, 8), '--json']],
  [['dlq', 'show', 'ffffffff']],
  [['dlq', 'export', '--all']],
  [['dlq', 'export', '--job-type', 'mail', '--json']],
  [['redrive']],
  [['dlq', 'discard', '--all', '--dry-run', '--json']],
  [['dlq', 'discard', '--all']],
  [['dlq', 'discard', '--stray', '1', '--yes']],
  [['dlq', 'discard', '--error', 'like nothing', '--yes', '--json']],
  [['redrive', '--all', '--dry-run']],
  [['redrive', '--all', '--dry-run', '--json', '--rate', '2/s', '--limit', '2']],
  [['redrive', '1', '5', '6', '999', '--dry-run', '--json']],
  [['redrive', '6', '--dry-run']],
  [['redrive', '--job-type', 'mail']],
  [['redrive', '--job-type', 'gone', '--yes']],
  [['redrive', '--error', 'matches nothing', '--yes', '--json']],
  [['redrives']],
  [['redrives', 'list', '--json']],
  [['redrives', '--limit', '1', '--json']],
  [['redrives', 'show', '1', '--json']],
  [['redrives', 'show', '2']],
  [['redrives', 'show', '999']],
  [['redrives', 'cancel', '1']],
  [['redrives', 'cancel', '999']],
  [['handlers']],
  [['handlers', 'pause', 'nothing', 'any.fast']],
  [['stats', '--json', '--bogus']],
])('prints the same bytes for %j through the database and through the API', async (args) => {
  const [one, other] = await Promise.all([byDatabase(args), byApi(args)]);

  expect({ code: other.code, stdout: other.stdout }).toEqual({ code: one.code, stdout: one.stdout });
  expect(other.stderr).toBe(one.stderr);
});

/** Each command runs on the same dead letters, created again. */
it.each([
  [['redrive', '--all', '--yes']],
  [['redrive', '--all', '--yes', '--json']],
  [['redrive', '--job-type', 'mail', '--limit', '2', '--yes', '--json']],
  [['redrive', '--group', group.slice(0, 4), '--job-type', 'mail', '--yes', '--json']],
  [['redrive', '1', '5', '6', '999', '--yes', '--json']],
  [['redrive', '2', '--yes']],
  [['jobs', 'retry', '1', '6', '--yes', '--json']],
  [['dlq', 'discard', '1', '6', '999', '--yes', '--json']],
  [['dlq', 'discard', '--all', '--yes']],
  [['dlq', 'discard', '--stray', '6', '--yes', '--json']],
  [['redrives', 'cancel', '2', '--json']],
  [['handlers', '--json']],
  [['handlers', 'pause', 'mail', 'any.fast', '--json']],
  [['handlers', 'resume', 'mail']],
])('makes the same changes and prints the same for %j through the database and through the API', async (args) => {
  await seed();
  const one = await byDatabase(args);
  const after = await standing();
  await seed();
  const other = await byApi(args);

  expect({ code: other.code, stdout: plain(other.stdout) }).toEqual({ code: one.code, stdout: plain(one.stdout) });
  expect(plain(other.stderr)).toBe(plain(one.stderr));
  expect(await standing()).toEqual(after);
});

/** What a command can change, without times and names. */
async function standing(): Promise<unknown> {
  const { rows } = await pool.query(`
    select (select jsonb_agg(jsonb_build_array(id, status, attempts) order by id) from millrace.jobs) as jobs,
           (select jsonb_agg(jsonb_build_array(id, status) order by id) from millrace.dead_letters) as letters,
           (select jsonb_agg(jsonb_build_array(id, status, done_count) order by id) from millrace.operations) as ops,
           (select jsonb_agg(job_type || routing_key order by job_type, routing_key) from millrace.handlers
              where paused_at is not null) as paused`);
  return rows[0];
}

it('process runs a round of the dispatcher through the API', async () => {
  const { code, stdout, stderr } = await byApi(['process']);
  const weak = await byApi(['process'], await keyOf(['jobs:read']));

  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'claimed\t2\nsent\t1\n', stderr: '' });
  expect(weak).toMatchObject({ code: 4, stdout: '' });
});

it('a viewer sees dead letters without their payloads', async () => {
  await seed();
  const viewer = await keyOf(['jobs:read']);

  const plainly = await byApi(['dlq', 'show', '1'], viewer);
  const json = await byApi(['dlq', 'show', '1', '--json'], viewer);
  const lines = await byApi(['dlq', 'export', '--all'], viewer);

  expect(plainly.stdout).toContain('payload\tnot shown: the key lacks the scope payload:read\n');
  expect(JSON.parse(json.stdout)).toMatchObject({ job_id: '1', payload_restricted: true });
  expect(lines.stdout.split('\n')).toHaveLength(7);
  expect(lines.stdout + json.stdout).not.toMatch(/"payload"|raw_body/);
});

it.each([
  [['redrive', '--all', '--via-sqs'], 'this command requires a database'],
  [['process', '--function', 'f'], '--function or --api-url, not both'],
])('rejects %j, which the API does not support', async (args, sentence) => {
  const { code, stdout, stderr } = await byApi(args);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(sentence);
});
