import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordDead } from '../../../core/dead-letters/record-dead.ts';
import { startRedrive, stepRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { insertJobs } from '../../../core/enqueue/insert-jobs.ts';
import { carryMissing } from '../../../core/jobs/carry.ts';
import { deleteJob } from '../../../core/jobs/delete.ts';
import { dieUnhandled } from '../../../core/jobs/die-unhandled.ts';
import { skipLate } from '../../../core/jobs/skip-late.ts';
import { openLog } from '../../../core/log.ts';
import { readEpoch } from '../../../core/postgres/epoch.ts';
import { advance } from '../../../core/postgres/step.ts';
import { upkeepSteps } from '../../../core/upkeep/upkeep.ts';
import { type Costs, plansOf, stopAutovacuum, type WatchedSession } from '../../support/plans.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';
import { stillTime } from '../../support/still-time.ts';
import { countInto, DUE, fill, findWorseTwice, measureIn, momentsOf } from './moments.ts';

const engine = await openEngine();
const { pool, db, test } = engine;
afterAll(() => engine.close());

const BATCH = 100;
const TABLES = ['jobs_live', 'dead_letters', 'job_attempts', 'dispatches', 'operations', 'upkeep'];
const EMPTY = TABLES.map((table) => `delete from millrace.${table}`).join(';');
/** Dead jobs with their dead letters and attempts, whose messages two sweeps did not see. */
const FILL_DEAD = `
  with dead as (
    insert into millrace.jobs_live (job_type, status, claim_no, attempts, max_attempts, message_id)
      select 'mail', 'dead_letter', 1, 1, 1, 'm' || n from generate_series(1, $1::int) n returning id
  ), letters as (
    insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, queue_name, last_error, died_at)
      select id, 1, 'mail', '', 'dlq', 'no', now() - interval '9 days' from dead
  )
  insert into millrace.job_attempts (job_id, attempt, outcome, finished_at)
    select id, 1, 'dead_letter', now() - interval '9 days' from dead`;
const FIND_DEAD = `select id::text from millrace.jobs_live where status = 'dead_letter' order by id limit $1`;

const LATE_COLUMNS = `insert into millrace.jobs_live (job_type, max_attempts, start_by`;
const LATE = `
  insert into millrace.jobs (job_type, payload)
    select 'other', jsonb_build_object('text', repeat('a', 300)) from generate_series(1, 40000);
  ${LATE_COLUMNS}) select 'late', 5, now() - interval '1 hour' from generate_series(1, 20000)`;
const IN_FLIGHT = `${LATE_COLUMNS}, status, claim_no, lease_expires_at)
  select 'mail', 5, now() - interval '1 hour', 'dispatched', 1, now() + interval '1 hour'
    from generate_series(1, 3000)`;
const TRIED = `${LATE_COLUMNS}, attempts) select 'mail', 5, now() - interval '1 hour', 1 from generate_series(1, 3000)`;

/** Returns what each statement reads for a job of its batch, among many others. */
async function measure(session: WatchedSession): Promise<Record<string, Costs>> {
  await pool.query(fill('mail', DUE));
  await pool.query(FILL_DEAD, [3000]);
  const costs: Record<string, Costs> = {};
  const count = countInto(costs, session);
  const epoch = await readEpoch(db);
  const { rows: dead } = await pool.query<{ id: string }>(FIND_DEAD, [BATCH]);
  const jobs = Array.from({ length: BATCH }, (_, n) => ({
    ...{ jobType: 'mail', routingKey: '', payload: '{}', uniqueKey: `k${n}` },
  }));
  await count('enqueue many', BATCH, () => insertJobs(session.db, jobs));
  await count('enqueue the same again', BATCH, () => insertJobs(session.db, jobs));
  const found = dead.map(({ id }, n) => ({
    ...{ messageId: `s${n}`, sentAt: 1, jobId: id, claimNo: '1', epoch, body: '{}' },
  }));
  await count('mirror', BATCH, () => recordDead(session.db, { url: 'dlq', name: 'dlq' }, found));
  await count('carry', 1000, () => session.db.transaction((tx) => carryMissing(tx, '0', 1000), { keyed: true }));
  const redrive = await startRedrive(db, { jobTypes: ['mail'] });
  await count('redrive', BATCH, () => stepRedrive(session.db, redrive, BATCH));
  await count('delete', 1, () => deleteJob(session.db, dead[0]!.id));
  const limits = { afterSeconds: 0, addresses: 500, jobs: BATCH };
  await pool.query(
    `insert into millrace.jobs (job_type, run_at) select 'typo', now() - interval '1 hour'
    from generate_series(1, $1::int)`,
    [BATCH],
  );
  await count('die without a handler', BATCH, () =>
    session.db.transaction((tx) => dieUnhandled(tx, null, limits), { keyed: true }),
  );
  const prune = upkeepSteps(7 * 86_400).find(({ name }) => name === 'prune_attempts')!;
  await count('prune attempts', 3000, () => advance(session.db, prune, prune.run));
  return costs;
}

/** Lets the session keep plans of all functions, made for a few rows. */
async function warmUp({ db: session }: WatchedSession): Promise<void> {
  for (let n = 0; n < 7; n++) {
    await pool.query(FILL_DEAD, [2]);
    await insertJobs(session, [{ jobType: 'mail', routingKey: '', payload: '{}', uniqueKey: `w${n}` }]);
    await stepRedrive(session, await startRedrive(db, { jobTypes: ['mail'] }), 2);
  }
  await pool.query(EMPTY);
}

const measureAlone = () => measureIn(test, warmUp, measure);

/** Statements may compare each row of a batch of 100 with the others of the batch. */
const MOST_FILTERED_ROWS = 110;

let friendly: Record<string, Costs>;
beforeAll(async () => {
  await stopAutovacuum(pool);
  await deploy(db, { jobType: 'mail' });
  await pool.query(`insert into millrace.dead_letter_queues (queue_url, complete_at, complete_before_at, swept_at)
    select dead_letter_queue_url, now(), now(), now() from millrace.handlers`);
  await pool.query(fill('mail', DUE));
  await pool.query(FILL_DEAD, [3000]);
  await pool.query('vacuum analyze');
  friendly = await measureAlone();
});

describe.each(Object.entries(momentsOf(engine)))('with statistics that %s', (_moment, arrange) => {
  it('each other statement reads only the pages of its jobs', async () => {
    const worse = await findWorseTwice(friendly, MOST_FILTERED_ROWS, async () => {
      await pool.query(EMPTY);
      await arrange();
      await pool.query('vacuum analyze millrace.dead_letters, millrace.job_attempts');
      return measureAlone();
    });

    expect(worse).toEqual({});
  });
});

describe.each([
  ['were never taken', `delete from pg_statistic where starelid = 'millrace.jobs_live'::regclass`],
  ['were taken while late jobs were in flight', IN_FLIGHT],
  ['were taken while late jobs had been tried', TRIED],
])('with statistics that %s', (_moment, jobs) => {
  it('late jobs are read in the order of their times, without a sort of all of them', async () => {
    await pool.query('truncate millrace.jobs_live');
    await pool.query(jobs);
    await pool.query('vacuum analyze millrace.jobs_live');
    await pool.query(LATE);
    let calls = 0;
    const time = { ...stillTime(), now: () => (calls++ < 2 ? 0 : 1000) };
    const log = openLog(() => undefined);

    const plans = await plansOf(test, (session) => skipLate({ db: session, log, time }));

    expect(plans.join('\n')).toContain('jobs_live_start_by');
    expect(plans.filter((plan) => plan.includes('Sort Key: j.start_by'))).toEqual([]);
  });
});
