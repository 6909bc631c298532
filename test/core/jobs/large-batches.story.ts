import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { settle } from '../../../core/jobs/settle.ts';
import { start } from '../../../core/jobs/start.ts';
import type { Outcome } from '../../../core/outcome.ts';
import { readEpoch } from '../../../core/postgres/epoch.ts';
import { filteredRows, openWatched, stopAutovacuum, type WatchedSession } from '../../support/plans.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

// A batch can have 10,000 jobs. A session that has run small batches keeps plans that do not depend on their number.
const engine = await openEngine();
const { pool, db, test } = engine;
let session: WatchedSession;
afterAll(() => session.close().then(() => engine.close()));

const LARGE = 3000;
const KEYS = Array.from({ length: 20 }, (_, n) => `k${n}`);
/** Rows that a statement may compare in vain for each job; comparing each with each would be half of `LARGE`. */
const MOST_IN_VAIN = 20;

const REQUEST = { jobType: 'mail', routingKey: '', requestId: 'r', leaseSeconds: 0, suspects: true };
const ERROR = { name: 'E', message: 'm', stack: null, fingerprint: 'f' };

async function insert(count: number, status: 'dispatched' | 'running' | 'dead_letter'): Promise<string[]> {
  const lease = status === 'dead_letter' ? 'null' : `now() + interval '1 hour'`;
  const { rows } = await pool.query(
    `insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no, started_at, lease_expires_at,
         message_id, request_id)
       select 'mail', '${status}', 1, 5, 1, now(), ${lease}, 'm', 'r' from generate_series(1, $1::integer)
       returning id::text`,
    [count],
  );
  return rows.map(({ id }) => id);
}

const settled = (outcome: Outcome) => async (count: number) => {
  const settlements = (await insert(count, 'running')).map((jobId) => ({ jobId, claimNo: '1', outcome }));
  return () => settle(session.db, settlements, { requestId: 'r' });
};

/** Every tenth job is for all of 20 handlers. */
const enqueued = (unique: boolean) => async (count: number) => {
  const jobs = Array.from({ length: count }, (_, n) => ({
    ...{ job_type: 'index_record', routing_key: n % 10 === 0 ? '*' : KEYS[n % KEYS.length] },
    unique_key: unique ? randomUUID() : undefined,
  }));
  return () => session.db.query('select * from millrace.enqueue_many($1)', [JSON.stringify(jobs)]);
};

/** Of jobs that have these values in these columns. */
const changed = (columns: string, values: string) => async (count: number) => {
  const { rows } = await pool.query<{ id: string }>(
    `insert into millrace.jobs_live (job_type, max_attempts${columns})
       select 'mail', 5${values} from generate_series(1, $1::integer) returning id`,
    [count],
  );
  const ids = rows.map(({ id }) => id);
  return () => session.db.query('update millrace.jobs set priority = 1 where id = any($1::bigint[])', [ids]);
};

/** For each call: prepares this number of jobs, and returns the call. */
const CALLS: Record<string, (count: number) => Promise<() => Promise<unknown>>> = {
  'a start': async (count) => {
    const epoch = await readEpoch(db);
    const ids = await insert(count, 'dispatched');
    const requests = ids.map((jobId) => ({ epoch, jobId, claimNo: '1', messageId: 'm', sentAt: 1 }));
    return () => start(session.db, { ...REQUEST, requests });
  },
  'the end of successes': settled({ kind: 'succeeded', result: null }),
  'the end of failures': settled({ kind: 'failed', error: ERROR, delaySeconds: 86_400 }),
  'the end of jobs that die': settled({ kind: 'dead_letter', error: ERROR }),
  'the end of skipped jobs': settled({ kind: 'skipped', error: ERROR }),
  'an enqueue in which some are for all handlers': enqueued(false),
  'an enqueue in which some with unique keys are for all handlers': enqueued(true),
  'an update by hand': changed('', ''),
  'an update by hand of jobs with a key': changed(', unique_key', `, gen_random_uuid()`),
  'an update by hand of jobs with a key that ends before them': changed(
    ', unique_key, unique_until',
    `, gen_random_uuid(), 'dispatched'`,
  ),
  'a discard of dead jobs': async (count) => {
    const ids = await insert(count, 'dead_letter');
    await pool.query(
      `insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key)
         select unnest($1::bigint[]), 1, 'mail', ''`,
      [ids],
    );
    return () => session.db.query(`select millrace.finish_cancelled($1::bigint[], 'no longer needed')`, [ids]);
  },
};

beforeAll(async () => {
  await stopAutovacuum(pool);
  await deploy(db, { jobType: 'mail' }, ...KEYS.map((routingKey) => ({ jobType: 'index_record', routingKey })));
  for (const status of ['dispatched', 'running', 'dead_letter'] as const) await insert(LARGE, status);
  await pool.query('vacuum analyze millrace.jobs_live');
  session = await openWatched(test);
  await session.db.command('set plan_cache_mode = force_generic_plan');
  for (const prepare of Object.values(CALLS)) for (let n = 0; n < 7; n++) await (await prepare(3))();
});

it.each(Object.entries(CALLS))(
  'after small batches, %s of a large one compares no job with each other',
  async (_name, prepare) => {
    const call = await prepare(LARGE);

    const plans = await session.plans(call);

    expect(plans.length).toBeGreaterThan(0);
    expect(plans.reduce((total, plan) => total + filteredRows(plan), 0)).toBeLessThan(MOST_IN_VAIN * LARGE);
  },
);
