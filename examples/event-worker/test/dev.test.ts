import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { JobEnded, openClient } from 'millrace';
import pg from 'pg';
import deliverUrgentEvent from '../jobs/deliver-urgent-event.ts';
import { openReceiver } from './receiver.ts';

// Written by `npm run dev`, which must be running.
const { apiUrl, databaseUrl } = JSON.parse(readFileSync('.millrace/dev.json', 'utf8'));
const client = openClient({ url: apiUrl, key: 'local' });
const database = new pg.Pool({ connectionString: databaseUrl });
const receiver = await openReceiver();
after(async () => {
  await database.end();
  receiver.close();
});

const INSERT = `
  insert into millrace.jobs (job_type, payload, run_at)
    select 'deliver_event', jsonb_build_object('url', $1::text, 'name', 'order.paid', 'data', n), now() + $3::interval
      from generate_series(1, $2::int) n returning id`;

/** Inserts events with one statement, and returns the ids of their jobs, which are due after the delay. */
async function insert(count: number, delay = '0s'): Promise<string[]> {
  const { rows } = await database.query(INSERT, [`${receiver.url}/200`, count, delay]);
  return rows.map(({ id }) => id);
}

async function untilSucceeded(ids: readonly string[]): Promise<void> {
  for (const id of ids) await client.wait({ id }, { timeout: '1m' });
}

/** Asks for a round of the dispatcher. */
async function process(body: unknown) {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(`${apiUrl}/admin/jobs/process`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

test('a claim takes at most MILLRACE_CLAIM_LIMIT jobs', async () => {
  await untilSucceeded(await insert(35));

  const { rows } = await database.query('select max(claimed_count) as most from millrace.dispatches');
  assert.deepEqual(rows, [{ most: 10 }]);
});

test('POST /admin/jobs/process and the command claim at most the given limit', async () => {
  const run = promisify(execFile);
  const byCommand = async () => JSON.parse((await run('millrace', ['process', '--limit', '3', '--json'])).stdout);
  const byApi = async () => (await process({ limit: 2 })).body;

  for (const [limit, claim] of [
    [2, byApi],
    [3, byCommand],
  ] as const) {
    const counts: number[] = [];
    // The rounds of the dispatcher continue every five seconds: one of them can take the jobs first.
    for (let tries = 0; tries < 20 && counts.at(-1) !== limit; tries++) {
      const ids = await insert(8);
      counts.push((await claim()).claimed);
      await untilSucceeded(ids);
    }
    assert.equal(Math.max(...counts), limit);
  }
});

test('POST /admin/jobs/process refuses every other body', async () => {
  for (const body of [{ limit: 0 }, { limit: 10_001 }, { limit: '5' }, { batch_size: 5 }, [5]]) {
    assert.equal((await process(body)).status, 422, JSON.stringify(body));
  }
});

test('a job that another transaction has locked is skipped, and the others are taken', async () => {
  const [locked = '', ...others] = await insert(4, '2s');
  const connection = await database.connect();
  await connection.query('begin');
  await connection.query('select from millrace.jobs where id = $1 for update', [locked]);

  await untilSucceeded(others);
  const before = await client.show(locked);
  await connection.query('commit');
  connection.release();
  await untilSucceeded([locked]);

  assert.deepEqual([before?.status, before?.attempts], ['pending', 0]);
});

test('every handler has the timeout of 300 s from MILLRACE_JOB_TIMEOUT', async () => {
  const { rows } = await database.query('select job_type, timeout_seconds from millrace.handlers order by job_type');

  assert.deepEqual(rows, [
    { job_type: 'deliver_event', timeout_seconds: 300 },
    { job_type: 'deliver_urgent_event', timeout_seconds: 2 },
  ]);
});

test('a job over its timeout is stopped, is dead after its last attempt, and can be inspected', async () => {
  const job = await client.enqueue(deliverUrgentEvent, { url: `${receiver.url}/never`, name: 'alarm', data: null });
  await assert.rejects(client.wait(job, { timeout: '1m' }), JobEnded);

  const shown = await (await fetch(`${apiUrl}/jobs/${job.id}`)).json();
  const list = (await (await fetch(`${apiUrl}/admin/dlq`)).json()) as { items: { job_id: string }[] };
  assert.partialDeepStrictEqual(shown, { status: 'dead_letter', attempts: 1, last_error: 'timed out after 2 s' });
  assert.equal(
    list.items.some((one: { job_id: string }) => one.job_id === job.id),
    true,
  );
});
