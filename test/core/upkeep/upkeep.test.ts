import { afterAll, beforeEach, expect, it } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { systemTime } from '../../../core/time.ts';
import { runUpkeep, type UpkeepStep } from '../../../core/upkeep/run-upkeep.ts';
import { doUpkeep, upkeepSteps } from '../../../core/upkeep/upkeep.ts';
import { createClient } from '../../support/database.ts';
import { insertJobs, openEngine, shiftClock } from '../../support/runtime-engine.ts';

const engine = await openEngine({ connections: 4 });
const { pool, db, log } = engine;
afterAll(() => engine.close());

const DAY = 86_400;
const FOR_EVER = Number.POSITIVE_INFINITY;
const deps = { db, log, time: systemTime };
const attempts = async () => (await pool.query('select from millrace.job_attempts')).rowCount;

beforeEach(async () => {
  await pool.query(`delete from millrace.jobs_live; delete from millrace.job_attempts; delete from millrace.upkeep;
    delete from millrace.job_counts`);
  await shiftClock(pool, 0);
  log.lines.length = 0;
});

it('runs each step once an hour across callers', async () => {
  const pass = async () => {
    await pool.query(`insert into millrace.job_attempts (job_id, attempt, outcome, finished_at)
      values (1, 1, 'failed', millrace.clock() - interval '8 days')`);
    await Promise.all(Array.from({ length: 4 }, () => doUpkeep(deps, upkeepSteps(7 * DAY), FOR_EVER)));
    return attempts();
  };

  const first = await pass();
  await shiftClock(pool, 3500);
  const second = await pass();
  await shiftClock(pool, 3700);
  const third = await pass();

  expect([first, second, third]).toEqual([0, 1, 0]);
  expect(log.events('pruned').map(({ history_rows }) => history_rows)).toEqual([1, 2]);
});

it.each([
  ['attempts whose job is dead', 12_000, `status = 'dead_letter', claim_no = 1`],
  ['attempts whose job runs', 7_000, `status = 'running', claim_no = 1, lease_expires_at = now(), started_at = now()`],
  ['attempts of jobs that are gone, behind them', 5_001, `attempts = 0`],
])('walks past what it keeps, in parts that a later run continues: %s', async (_name, kept, change) => {
  await insertJobs(pool, 'mail', 1);
  await pool.query(`update millrace.jobs_live set ${change}`);
  await pool.query(
    `insert into millrace.job_attempts (job_id, attempt, outcome, finished_at)
       select (select id from millrace.jobs_live), 1, 'failed', now() - interval '8 days' from generate_series(1, $1);`,
    [kept],
  );
  await pool.query(`insert into millrace.job_attempts (job_id, attempt, outcome, finished_at)
    select 0, 1, 'failed', now() - interval '8 days' from generate_series(1, 6000)`);
  const parts: number[] = [];
  const steps = upkeepSteps(7 * DAY).filter(({ name }) => name === 'prune_attempts');

  let runs = 0;
  // Each run has time for one part only.
  do {
    let now = 0;
    const done = await runUpkeep({ ...deps, time: { ...systemTime, now: () => now++ } }, steps, 1);
    parts.push(done.get('prune_attempts') ?? -1);
    runs += 1;
  } while ((await pool.query('select from millrace.upkeep where position is not null')).rowCount);

  expect(await attempts()).toBe(kept);
  expect(runs).toBe(Math.floor((kept + 6000) / 5000) + 1);
  expect(Math.max(...parts)).toBeLessThanOrEqual(5000);
});

it('gives each step its turn while the failures of others use up the time', async () => {
  const ran: string[] = [];
  const step = (name: string, isBroken: boolean): UpkeepStep => ({
    name,
    everySeconds: 0,
    run: async () => {
      ran.push(name);
      if (isBroken) throw new Error('broken');
      return { position: null, rows: 0 };
    },
  });
  const steps = [step('broken_1', true), step('broken_2', true), step('sound', false)];
  const failed = new Set<string>();
  const runs: string[][] = [];
  for (let n = 1; n <= 4; n++) {
    ran.length = 0;
    await runUpkeep({ ...deps, failed, time: { ...systemTime, now: () => ran.length } }, steps, 1);
    runs.push([...ran]);
  }

  expect(runs).toEqual([['broken_1'], ['broken_2'], ['sound'], ['sound']]);
});

it('continues with the other steps if a step fails, and repeats the failed step in the next run', async () => {
  const ran: string[] = [];
  let broken = true;
  const step = (name: string, run?: UpkeepStep['run']): UpkeepStep => ({
    name,
    everySeconds: 3600,
    run: run ?? (async () => succeed(name)),
  });
  const succeed = (name: string) => {
    ran.push(name);
    return { position: null, rows: 1 };
  };
  const failing = step('failing', async (tx) => {
    if (broken) await tx.query('select 1 / 0');
    return succeed('failing');
  });
  const steps = [step('before'), failing, step('after')];

  await runUpkeep(deps, steps, FOR_EVER);
  broken = false;
  await runUpkeep(deps, steps, FOR_EVER);

  expect(ran).toEqual(['before', 'after', 'failing']);
  expect(log.events('upkeep_failed')).toMatchObject([
    { upkeep_step: 'failing', error: { message: 'division by zero' } },
  ]);
});

it.each([31 * DAY, 30 * DAY + 1, 3599, 0, -1, Number.NaN, FOR_EVER])(
  'refuses a retention of %d seconds',
  (retentionSeconds) => {
    expect(() => upkeepSteps(retentionSeconds)).toThrow('retention: expected 1h to 30d');
  },
);

it('skips the statistics while another transaction has locked a table', async () => {
  const analyze = upkeepSteps(7 * DAY).filter(({ name }) => name === 'analyze_jobs');
  const busy = await createClient(engine.test.url);
  await busy.query('begin; lock table millrace.jobs in share update exclusive mode');
  await runUpkeep(deps, analyze, FOR_EVER);
  await busy.query('rollback');
  await insertJobs(pool, 'mail', 5);
  await pool.query('delete from millrace.upkeep');
  await runUpkeep(deps, analyze, FOR_EVER);

  const { rows } = await pool.query(`select reltuples::int as n from pg_class where oid = 'millrace.jobs'::regclass`);
  expect(rows[0].n).toBeGreaterThanOrEqual(5);
});

it('tries the statistics once an hour, not each minute, when they take longer than a statement may', async () => {
  const analyze = upkeepSteps(7 * DAY).filter(({ name }) => name === 'analyze_jobs');
  const hurried = openDatabase({
    connectionString: engine.test.url,
    max: 1,
    name: 'hurried',
    log,
    statementTimeoutMs: 300,
  });
  const busy = await createClient(engine.test.url);
  await busy.query('begin; lock table millrace.jobs in share update exclusive mode');

  await runUpkeep({ ...deps, db: hurried }, analyze, FOR_EVER);
  const { rows } = await pool.query('select step, passed_at is not null as passed from millrace.upkeep');
  await hurried.close();

  expect(log.events('upkeep_failed')).toEqual([]);
  expect(rows).toEqual([{ step: 'analyze_jobs', passed: true }]);
});

it('samples all jobs together, and not each day of finished jobs again, from Postgres 18 on', async () => {
  const { rows: version } = await pool.query(`select current_setting('server_version_num')::int as n`);
  // Fewer than autovacuum would analyze.
  await pool.query(`insert into millrace.jobs_finished (id, slot, job_type, status, max_attempts, finished_at)
    select n, 5, 'mail', 'succeeded', 5, now() from generate_series(1, 30) n`);

  await pool.query('select millrace.analyze_jobs()');

  const { rows } = await pool.query(`select relname, reltuples::int as n from pg_class
    where oid in ('millrace.jobs'::regclass, 'millrace.jobs_finished'::regclass, 'millrace.jobs_finished_05'::regclass)
    order by 1`);
  expect(rows).toEqual([
    { relname: 'jobs', n: 30 },
    { relname: 'jobs_finished', n: 30 },
    { relname: 'jobs_finished_05', n: version[0].n >= 180_000 ? -1 : 30 },
  ]);
});

it('deletes minutes after a day and hours after 31 days, and keeps those of a clock that was set ahead', async () => {
  await pool.query(`delete from millrace.job_numbers; insert into millrace.job_numbers (step, at, job_type, enqueued)
    select step, now() + age::interval, '_all', 1 from (values
      ('minute', '-26 h'), ('minute', '-24 h'), ('minute', '2 d'), ('hour', '-32 d'), ('hour', '-31 d')) n(step, age)`);

  await doUpkeep(deps, upkeepSteps(7 * DAY), FOR_EVER);

  const left = await pool.query(`select step, round(extract(epoch from at - now()) / 3600)::int as hours
    from millrace.job_numbers order by step, at`);
  expect(left.rows).toEqual([
    { step: 'hour', hours: -744 },
    { step: 'minute', hours: -24 },
    { step: 'minute', hours: 48 },
  ]);
  expect(log.events('pruned')).toMatchObject([{ history_rows: 2 }]);
});
