import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, enqueueMany } from '../../core/index.ts';
import { copyIn } from '../migrations/copy.ts';
import { createClient } from '../support/database.ts';
import { createLogin, deploy, openEngine } from '../support/runtime-engine.ts';

const JOBS = 100_000;
const CHUNK = 1000;

const engine = await openEngine();
const { pool } = engine;
const login = await createLogin(engine.test, 'millrace_app');
await deploy(engine.db, { jobType: 'import_row', maxAttempts: 3 });
afterAll(async () => {
  await engine.close();
  await login.drop();
});
beforeEach(async () => {
  await pool.query('truncate millrace.jobs_live; delete from millrace.job_events');
});

const importRow = defineHandler({
  jobType: 'import_row',
  payload: z.object({ n: z.int() }),
  run: async () => undefined,
});
const numbers = Array.from({ length: JOBS }, (_, n) => n);

/** Returns what the tables contain of the jobs: each once, with the attempts of its handler, and counted. */
async function stored() {
  const { rows } = await pool.query(
    `select count(*)::int as jobs, count(distinct payload ->> 'n')::int as numbers, min(max_attempts) as attempts,
            (select coalesce(sum(count), 0)::int from millrace.job_events where event = 'enqueued') as counted
       from millrace.jobs`,
  );
  return rows[0];
}
const ALL = { jobs: JOBS, numbers: JOBS, attempts: 3, counted: JOBS };
const NONE = { jobs: 0, numbers: 0, attempts: null, counted: 0 };

describe(`${JOBS} jobs`, () => {
  it('are enqueued in one transaction by enqueueMany, in chunks', async () => {
    const client = await createClient(login.url);
    const ids = new Set<string>();

    await client.query('begin');
    for (let start = 0; start < JOBS; start += CHUNK) {
      const items = numbers.slice(start, start + CHUNK).map((n) => ({ handler: importRow, payload: { n } }));
      for (const { id } of await enqueueMany(client, items)) ids.add(id);
    }
    await client.query('commit');

    expect(ids.size).toBe(JOBS);
    expect(await stored()).toEqual(ALL);
  });

  it('are enqueued by one COPY', async () => {
    const client = await createClient(login.url);
    const lines = numbers.map((n) => `import_row\t{"n": ${n}}`);

    await copyIn(client, 'copy millrace.jobs (job_type, payload) from stdin', lines);

    expect(await stored()).toEqual(ALL);
  });

  it('are all refused by a COPY with one invalid job', async () => {
    const client = await createClient(login.url);
    const lines = numbers.map((n) => `import_row\t{"n": ${n}}\t${n === JOBS - 1 ? 10 : 5}`);

    const copied = copyIn(client, 'copy millrace.jobs (job_type, payload, priority) from stdin', lines);

    await expect(copied).rejects.toThrow('priority is 0 to 9');
    expect(await stored()).toEqual(NONE);
  });

  it('are enqueued by a COPY into a temporary table, without those whose unique key is in use', async () => {
    const client = await createClient(login.url);
    await client.query(`select millrace.enqueue('import_row', '{"n": 7}', unique_key => 'row-7')`);
    const lines = numbers.map((n) => `{"n": ${n}}\trow-${n}`);

    await client.query('begin');
    await client.query('create temporary table new_jobs (payload jsonb, unique_key text) on commit drop');
    await copyIn(client, 'copy new_jobs from stdin', lines);
    const { rowCount } = await client.query(`insert into millrace.jobs (job_type, payload, unique_key)
      select 'import_row', payload, unique_key from new_jobs on conflict do nothing`);
    await client.query('commit');

    expect(rowCount).toBe(JOBS - 1);
    expect(await stored()).toEqual(ALL);
  });
});
