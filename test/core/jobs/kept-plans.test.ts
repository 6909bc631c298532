import { afterAll, beforeAll, expect, it } from 'vitest';
import { cancel } from '../../../core/jobs/cancel.ts';
import { redrive, retryJob } from '../../../core/jobs/redrive.ts';
import { settle } from '../../../core/jobs/settle.ts';
import { start } from '../../../core/jobs/start.ts';
import type { Outcome } from '../../../core/outcome.ts';
import { readEpoch } from '../../../core/postgres/epoch.ts';
import { openWatched, stopAutovacuum, type WatchedSession } from '../../support/plans.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

// A session keeps the plans of functions from a quiet day, when the table had one row; then many jobs come, before an
// autoanalyze. A scan of a whole index is as bad as one of the table.
const engine = await openEngine();
const { pool, db, test } = engine;
let session: WatchedSession;
afterAll(() => session.close().then(() => engine.close()));

const OTHERS = 20_000;
/** Pages of tables and indexes that one call may read; the whole table has more than a thousand. */
const MOST_PAGES = 200;
const COLUMNS = '(job_type, status, attempts, max_attempts, claim_no';

async function insert(rest: string): Promise<string> {
  const { rows } = await pool.query(`insert into millrace.jobs_live ${COLUMNS}${rest} returning id::text`);
  return rows[0].id;
}

const insertPending = () => insert(`) values ('mail', 'pending', 0, 5, 0)`);
const insertDead = async () => {
  const id = await insert(`, message_id) values ('mail', 'dead_letter', 1, 1, 1, 'm')`);
  await pool.query(
    `insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key) values ($1, 1, 'mail', '')`,
    [id],
  );
  return id;
};
const insertRunning = () =>
  insert(`, started_at, lease_expires_at, request_id)
    values ('mail', 'running', 1, 5, 1, now(), now() + interval '1 hour', 'r')`);

const ERROR = { name: 'E', message: 'm', stack: null, fingerprint: 'f' };
const settled = (outcome: Outcome) => async () => {
  const jobId = await insertRunning();
  return () => settle(session.db, [{ jobId, claimNo: '1', outcome }], { requestId: 'r' });
};

const JOB = '{"job_type":"mail"}';
const FAN_OUT = `"jobs":[${JOB}],"then":${JOB},"past_dead":false`;
const successWith = (group: string, jobs: number): Outcome => ({
  kind: 'succeeded',
  result: null,
  enqueued: { groups: [group], jobs, delaySeconds: 1 },
});
const advance = async ({ db: of }: WatchedSession) => {
  const { rows } = await pool.query(
    `select coalesce(max(job_id), 0) as id from millrace.job_joins where ended_at is null`,
  );
  return of.query('select millrace.advance_join($1)', [rows[0].id]);
};

/** The start of a dispatched job, which has these values in these further columns. */
const startOf = (columns: string, values: string) => async () => {
  const lease = `now() + interval '1 hour'`;
  const jobId = await insert(`, lease_expires_at${columns}) values ('mail', 'dispatched', 0, 5, 1, ${lease}${values})`);
  const requests = [{ epoch: await readEpoch(db), jobId, claimNo: '1', messageId: 'm', sentAt: 1 }];
  const batch = { jobType: 'mail', routingKey: '', leaseSeconds: 0, suspects: true, requests };
  return () => start(session.db, { ...batch, requestId: `${Math.random()}` });
};

/** For each call: prepares a job for it, and returns the call. */
const CALLS: Record<string, () => Promise<() => Promise<unknown>>> = {
  'a cancel of a waiting job': async () => {
    const id = await insertPending();
    return () => cancel(session.db, id);
  },
  'a cancel of a finished job': async () => {
    const id = await insertPending();
    await cancel(db, id);
    return () => cancel(session.db, id);
  },
  'a retry of a failed job': async () => {
    const id = await insert(`, next_retry_at) values ('mail', 'failed', 1, 5, 1, now() + interval '1 day')`);
    return () => retryJob(session.db, id);
  },
  'a retry of a dead job': async () => {
    const id = await insertDead();
    return () => retryJob(session.db, id);
  },
  'a redrive by a message': async () => {
    const jobId = await insertDead();
    return () => redrive(session.db, [{ jobId, claimNo: '1' }], 'sqs');
  },
  'a delete from failed_jobs': async () => {
    const id = await insertDead();
    return () => session.db.query('delete from millrace.failed_jobs where job_id = $1', [id]);
  },
  'an enqueue of an existing key': async () => () =>
    session.db.query(`select * from millrace.enqueue('mail', unique_key => 'k')`),
  'a bulk enqueue of an existing key': async () => () =>
    session.db.query(`select * from millrace.enqueue_many('[{"job_type": "mail", "unique_key": "k"}]')`),
  'a start': startOf('', ''),
  'a start that is too late': startOf(', start_by', `, now() - interval '1 minute'`),
  'a start of a cancelled job': async () => {
    const call = await startOf('', '')();
    await pool.query(`select millrace.cancel(max(id)) from millrace.jobs_live where status = 'dispatched'`);
    return call;
  },
  'a second message': async () => {
    const call = await startOf('', '')();
    await call();
    return call;
  },
  'the end of a success': settled({ kind: 'succeeded', result: null }),
  'the end of a failure': settled({ kind: 'failed', error: ERROR, delaySeconds: 86_400 }),
  'the end of a job that dies': settled({ kind: 'dead_letter', error: ERROR }),
  'the end of a skipped job': settled({ kind: 'skipped', error: ERROR }),
  'a success with a follow-up': settled(successWith(`"jobs":[${JOB}]`, 1)),
  'a success with a child': settled(successWith(FAN_OUT, 2)),
  'a success without children': settled(successWith(FAN_OUT.replace(JOB, ''), 1)),
  'a look at a job that waits for a child': async () => {
    await (await settled(successWith(FAN_OUT, 2))())();
    return () => advance(session);
  },
  'the end of a wait for children': async () => {
    await (await settled(successWith(FAN_OUT.replace(JOB, ''), 1))())();
    return () => advance(session);
  },
  'a cancel of children': async () => {
    await pool.query('delete from millrace.job_joins');
    await (await settled(successWith(FAN_OUT, 2))())();
    await pool.query('select millrace.cancel(parent_id) from millrace.job_joins where ended_at is null');
    return () => advance(session);
  },
};

beforeAll(async () => {
  await stopAutovacuum(pool);
  await deploy(db, { jobType: 'mail' });
  await pool.query(`select millrace.enqueue('mail', unique_key => 'k')`);
  await pool.query('vacuum analyze millrace.jobs_live');
  session = await openWatched(test);
  for (const prepare of Object.values(CALLS)) for (let n = 0; n < 7; n++) await (await prepare())();
  await pool.query(
    `insert into millrace.jobs (job_type, payload)
    select 'other', jsonb_build_object('text', repeat('a', 300)) from generate_series(1, $1::integer)`,
    [OTHERS],
  );
  // The job with the key is not in the first page of the table, as for any key but the oldest.
  await pool.query(`delete from millrace.jobs_live where unique_key = 'k'`);
  await pool.query(`select millrace.enqueue('mail', unique_key => 'k')`);
});

it.each(Object.entries(CALLS))(
  '%s reads rows by their keys, with plans kept from a table of one row',
  async (_name, prepare) => {
    const call = await prepare();

    const { pages } = await session.costs(call);

    const { rows } = await pool.query(`select pg_relation_size('millrace.jobs_live') / 8192 as pages`);
    expect(Number(rows[0].pages)).toBeGreaterThan(5 * MOST_PAGES);
    expect(pages).toBeLessThan(MOST_PAGES);
  },
);
