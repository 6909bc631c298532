import { afterAll, beforeEach, expect, it } from 'vitest';
import { countJobs } from '../../../core/numbers/count-jobs.ts';
import { renderMetrics } from '../../../core/numbers/prometheus.ts';
import { readStats } from '../../../core/numbers/stats.ts';
import type { Queryable } from '../../../core/postgres/database.ts';
import { listHandlers } from '../../../core/registry/list-handlers.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());
beforeEach(async () => {
  await pool.query('truncate millrace.jobs_live, millrace.job_counts, millrace.job_events cascade');
  await deploy(db, { jobType: 'mail' }, { jobType: 'mail', routingKey: 'bulk' });
});

/** The rows of the largest answer of the database. */
let rows = 0;
const counting: Queryable = {
  query: async (text: string, values?: readonly unknown[]) => {
    const answer = await db.query(text, values);
    rows = Math.max(rows, answer.rows.length);
    return answer as never;
  },
};

async function read() {
  rows = 0;
  const stats = await readStats(counting);
  const metrics = await renderMetrics(counting, { version: '1', node: '24' });
  const handlers = await listHandlers(counting);
  return { jobs: stats.jobs, lines: metrics.split('\n').length, handlers: handlers.map(({ jobs }) => jobs?.pending) };
}

async function count(): Promise<void> {
  let position: string | null = null;
  do ({ position } = await countJobs(pool as unknown as Queryable, position));
  while (position !== null);
}

const INSERT = `insert into millrace.jobs_live (job_type, routing_key, max_attempts)`;
const MAILS = `${INSERT} select 'mail', key, 5 from unnest(array['', 'bulk']) key, generate_series(1, 30)`;

it.each([
  ['job types', `${INSERT} select 'typo_' || n, '', 5 from generate_series(1, 3000) n`],
  ['job types with routing keys', `${INSERT} select 'typo_' || n, 'k' || n, 5 from generate_series(1, 3000) n`],
  ['routing keys of one job type', `${INSERT} select 'typo', 'k' || n, 5 from generate_series(1, 3000) n`],
  ['routing keys of a job type with a handler', `${INSERT} select 'mail', 'k' || n, 5 from generate_series(1, 3000) n`],
])('reads few rows about jobs with many %s', async (_what, fill) => {
  await pool.query(MAILS);
  await pool.query(fill);

  const { jobs, lines, handlers } = await read();

  expect(jobs.reduce((sum, one) => sum + one.count, 0)).toBe(3060);
  expect(jobs.length).toBeLessThanOrEqual(102);
  expect(lines).toBeLessThan(500);
  expect(handlers).toEqual([30, 30]);
  expect(rows).toBeLessThanOrEqual(1002);
});

it.each([
  ['job types', `${INSERT} select 'typo_' || n, '', 5 from generate_series(1, 51000) n`],
  ['routing keys of one job type', `${INSERT} select 'typo', 'k' || n, 5 from generate_series(1, 51000) n`],
  [
    'routing keys of a job type with a handler',
    `${INSERT} select 'mail', 'k' || n, 5 from generate_series(1, 51000) n`,
  ],
])('stores and reads few counts of many jobs with many %s', async (_what, fill) => {
  await pool.query(MAILS);
  const { rowCount } = await pool.query(fill);

  const before = await read();
  await count();
  await count();
  const { jobs, lines, handlers } = await read();

  expect([before.jobs, before.handlers]).toEqual([[], [undefined, undefined]]);
  expect(jobs.reduce((sum, one) => sum + one.count, 0)).toBe(60 + (rowCount ?? 0));
  expect(lines).toBeLessThan(500);
  expect(handlers).toEqual([30, 30]);
  expect(rows).toBeLessThanOrEqual(1002);
  const stored = await pool.query('select from millrace.job_counts');
  expect(stored.rowCount).toBeLessThanOrEqual(104);
});

it('names further job types without a handler when others are gone', async () => {
  const named = async (prefix: string) => {
    await pool.query('delete from millrace.jobs_live');
    await pool.query(`${INSERT} select $1 || n % 200, '', 5 from generate_series(1, 60000) n`, [prefix]);
    await count();
    await count();
    const { jobs } = await readStats(db);
    return [
      jobs.filter(({ jobType }) => jobType.startsWith(prefix)).length,
      jobs.find(({ jobType }) => jobType === '_other')?.count,
    ];
  };

  const both = [await named('old_'), await named('new_')];

  expect(both).toEqual([
    [100, 30_000],
    [100, 30_000],
  ]);
});
