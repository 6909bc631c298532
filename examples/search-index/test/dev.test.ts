import assert from 'node:assert/strict';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { saveRecord } from '../app/save-record.ts';
import { call, eventually, pool, purgeQueue } from './stack.ts';

after(() => pool.end());

/** Saves a record, and returns its id and those of its jobs. */
async function save(title: string): Promise<{ id: string; keyword: string; vector: string }> {
  const { id, jobs } = await saveRecord(pool, { title, body: '' });
  const [keyword = '', vector = ''] = jobs;
  return { id, keyword, vector };
}

/** Waits until a job has a status, and returns the job. */
// biome-ignore lint/suspicious/noExplicitAny: the tests compare its members.
async function untilStatus(id: string, ...statuses: readonly string[]): Promise<any> {
  return eventually(async () => {
    const job = await call(`GET /admin/jobs/${id}`);
    assert.ok(statuses.includes(job.status), JSON.stringify(job));
    return job;
  });
}

/** Makes the writes of the vector index wait until the returned function is called. */
async function lockVectors(): Promise<() => Promise<void>> {
  const client = await pool.connect();
  await client.query('begin');
  await client.query('lock table vector_index in share mode');
  return async () => {
    await client.query('rollback');
    client.release();
  };
}

test('each key has its own batch size, concurrency, attempts and timeout', async () => {
  const { items } = await call('GET /admin/handlers');

  // biome-ignore lint/suspicious/noExplicitAny: see above.
  const limits = items.map((one: any) => [
    one.id,
    one.batch_size,
    one.concurrency,
    one.max_attempts,
    one.timeout_seconds,
  ]);
  assert.deepEqual(limits, [
    ['index_record.keyword', 10, 4, 4, 10],
    ['index_record.vector', 1, 2, 6, 20],
  ]);
});

test('a claim is good for as long as the README says, which follows from the limits of the key', async () => {
  const row = /^\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \| (\d+) s \| (\d+) s \|$/gm;
  const stated = [...(await readFile('README.md', 'utf8')).matchAll(row)].map(([, key, ...numbers]) => [
    key,
    ...numbers.map(Number),
  ]);

  const { rows } = await pool.query(`select routing_key, batch_size, concurrency, max_attempts, timeout_seconds,
    dispatched_lease_seconds from millrace.handlers order by routing_key`);

  assert.equal(stated.length, 2);
  assert.deepEqual(
    rows.map((one) => Object.values(one)),
    stated,
  );
});

test('concurrent workers never share a job', async () => {
  const records = await Promise.all(Array.from({ length: 50 }, (_, index) => save(`Record ${index}`)));
  const ended = `select routing_key, max(attempts) as attempts, count(*)::int as jobs,
      count(distinct result ->> 'process') > 1 as concurrent
    from millrace.jobs where id = any($1) and status = 'succeeded' group by routing_key order by routing_key`;

  await eventually(async () => {
    const { rows } = await pool.query(ended, [records.flatMap(({ keyword, vector }) => [keyword, vector])]);
    assert.deepEqual(rows, [
      { routing_key: 'keyword', attempts: 1, jobs: 50, concurrent: true },
      { routing_key: 'vector', attempts: 1, jobs: 50, concurrent: true },
    ]);
  });

  const ids = records.map(({ id }) => id);
  for (const text of [
    'select count(*)::int, max(writes) from keyword_index where record_id = any($1)',
    'select count(*)::int, max(writes) from vector_index where record_id = any($1)',
  ]) {
    const { rows } = await pool.query(text, [ids]);
    assert.deepEqual(rows, [{ count: 50, max: 1 }]);
  }
});

test('a crash in the run costs one attempt, and the job runs again', async () => {
  const unlock = await lockVectors();
  const { vector } = await save('Green tea');
  const process = await eventually(async () => {
    const { progress } = await call(`GET /admin/jobs/${vector}`);
    return Number(/^process (\d+)$/.exec(progress?.text)![1]);
  });

  globalThis.process.kill(process, 'SIGKILL');
  const crashed = await untilStatus(vector, 'failed');
  await unlock();
  await call(`POST /admin/jobs/${vector}/retry`);
  const job = await untilStatus(vector, 'succeeded');

  assert.deepEqual([crashed.attempts, crashed.attempt_history[0].error_name], [1, 'ProcessEnded']);
  assert.equal(job.attempts, 2);
});

test('a claim that is lost before the job starts costs no attempt: the stale claim comes back', async () => {
  const unlock = await lockVectors();
  // Both workers are busy, so the message of a third job waits in its queue.
  const busy = [await save('Busy'), await save('Busy')];
  for (const { vector } of busy) await untilStatus(vector, 'running');
  const { vector } = await save('Lost');
  const claimed = await untilStatus(vector, 'dispatched');

  await purgeQueue('vector');
  await unlock();
  for (const one of busy) await untilStatus(one.vector, 'succeeded');
  const lost = await call(`GET /admin/jobs/${vector}`);
  const lease =
    'select extract(epoch from lease_expires_at - dispatched_at)::int as seconds from millrace.jobs where id = $1';
  const { rows } = await pool.query(lease, [vector]);
  // That time has passed.
  await pool.query('update millrace.jobs_live set lease_expires_at = millrace.clock() where id = $1', [vector]);
  const job = await untilStatus(vector, 'succeeded');

  assert.deepEqual([claimed.attempts, lost.status, lost.attempts], [0, 'dispatched', 0]);
  // As long as the 20 jobs that may be in flight can take, with a timeout of 20 s.
  assert.deepEqual(rows, [{ seconds: 330 }]);
  assert.equal(job.attempts, 1);
  assert.ok(Number(job.claim_no) > Number(claimed.claim_no), 'the job was claimed again');
});

test('while a backend is down, its jobs are skipped, and statistics and counter show how many', async (t) => {
  const settings = await readFile('.env');
  t.after(() => writeFile('.env', settings));
  const skips = async () => {
    const { by_job_type: types } = await call('GET /admin/jobs/stats');
    const counter = /^millrace_job_events_total\{event="skipped",job_type="index_record",status="skipped"\} (\d+)$/m;
    return [types.index_record?.skipped, Number(counter.exec(await call('GET /metrics'))?.[1] ?? 0)];
  };
  const before = await skips();

  // A saved .env reloads the handlers.
  await appendFile('.env', 'VECTOR_INDEX_URL=postgres://127.0.0.1:1/search\n');
  const { keyword, skipped } = await eventually(async () => {
    const record = await save('Green tea');
    const vector = await untilStatus(record.vector, 'succeeded', 'skipped');
    assert.equal(vector.status, 'skipped');
    return { keyword: record.keyword, skipped: vector };
  });
  const after = await skips();

  assert.equal(skipped.last_error, 'the vector index is unavailable: connect ECONNREFUSED 127.0.0.1:1');
  assert.deepEqual([(await untilStatus(keyword, 'succeeded')).attempts, skipped.attempts], [1, 1]);
  assert.deepEqual(
    after,
    before.map((count) => count + 1),
  );
});
