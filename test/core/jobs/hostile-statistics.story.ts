import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyCancelRequests, cancel } from '../../../core/jobs/cancel.ts';
import { type ClaimedJob, claim } from '../../../core/jobs/claim.ts';
import { redrive } from '../../../core/jobs/redrive.ts';
import { release, releaseUnconfirmed } from '../../../core/jobs/release.ts';
import { findExpiredAttempts, releaseExpiredDispatched } from '../../../core/jobs/rescue.ts';
import { settle } from '../../../core/jobs/settle.ts';
import { start } from '../../../core/jobs/start.ts';
import type { Outcome } from '../../../core/outcome.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { readEpoch } from '../../../core/postgres/epoch.ts';
import { historyPrunes } from '../../../core/upkeep/prune.ts';
import { type Costs, stopAutovacuum, type WatchedSession } from '../../support/plans.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';
import { countInto, DUE, fill, findWorseTwice, measureIn, momentsOf } from './moments.ts';

const engine = await openEngine();
const { pool, db, test } = engine;
afterAll(() => engine.close());

const BATCH = 10;
const ERROR = { name: 'E', message: 'no', stack: null, fingerprint: 'f' };
const OUTCOMES: Record<string, Outcome> = {
  success: { kind: 'succeeded', result: '{}' },
  failure: { kind: 'failed', error: ERROR, delaySeconds: 60 },
  death: { kind: 'dead_letter', error: ERROR },
};

async function deliver(session: Database, claimed: readonly ClaimedJob[], requestId = 'r') {
  const epoch = await readEpoch(db);
  const requests = claimed.map(({ id, claimNo }, n) => ({ epoch, jobId: id, claimNo, messageId: `${n}`, sentAt: 1 }));
  return start(session, { jobType: 'mail', routingKey: '', requestId, requests, leaseSeconds: 0, suspects: true });
}

const end = (session: Database, claimed: readonly ClaimedJob[], outcome: Outcome) =>
  settle(
    session,
    claimed.map(({ id, claimNo }) => ({ jobId: id, claimNo, outcome })),
    { requestId: 'r' },
  );

/** Lets the session keep plans of all functions, made for a few rows. */
async function warmUp({ db: session }: WatchedSession): Promise<void> {
  for (const outcome of Object.values(OUTCOMES)) {
    for (let n = 0; n < 7; n++) {
      await pool.query(fill('mail', 1));
      await session.query('select millrace.enqueue_many($1)', [keyed(`${n}`)]);
      const claimed = await claim(session, 1);
      await deliver(session, claimed);
      await end(session, claimed, outcome);
    }
  }
  await pool.query(
    'delete from millrace.jobs_live; delete from millrace.dead_letters; delete from millrace.dispatches; ' +
      'delete from millrace.unique_keys',
  );
}

// Jobs of another type that no dispatcher has skipped yet.
const LATE = `
  insert into millrace.jobs_live (job_type, max_attempts, start_by)
    select 'other', 5, now() - interval '1 hour' from generate_series(1, 5000)`;

// Keys of jobs that are long gone.
const KEYS = `
  insert into millrace.unique_keys (job_type, routing_key, unique_key, job_id, until)
    select 'mail', '', 'old ' || n, n, 'finished' from generate_series(1, 5000) n`;
/** Jobs whose keys end in every way; half of the keys are held already. */
const keyed = (round: string) =>
  JSON.stringify(
    Array.from({ length: BATCH }, (_, n) => ({
      ...{ job_type: 'mail', unique_key: `${round} ${n % (BATCH / 2)}`, on_conflict: n % 3 === 0 ? 'replace' : 'skip' },
      unique_until: ['finished', 'dispatched', 'dead_letter'][n % 3],
    })),
  );

/** Returns what each statement reads for a job, among many due jobs. */
async function measure(session: WatchedSession): Promise<Record<string, Costs>> {
  await pool.query(fill('mail', DUE));
  await pool.query(LATE);
  await pool.query(KEYS);
  const costs: Record<string, Costs> = {};
  const count = countInto(costs, session);
  const enqueue = (jobs: string) => session.db.query('select millrace.enqueue_many($1)', [jobs]);
  for (const round of ['new', 'old']) await count(`enqueue with ${round} keys`, BATCH, () => enqueue(keyed(round)));
  const prune = historyPrunes(3600).unique_keys;
  await count('prune of keys', 5000, () => session.db.transaction((tx) => prune(tx, null)));
  let claimed: ClaimedJob[] = [];
  await count('claim', 1000, async () => {
    claimed = await claim(session.db, 1000);
    expect(claimed).toHaveLength(1000);
  });
  const dead: ClaimedJob[] = [];
  for (const [name, outcome] of Object.entries(OUTCOMES)) {
    const batch = claimed.splice(0, BATCH);
    if (name === 'death') dead.push(...batch);
    await count(`start before ${name}`, BATCH, () => deliver(session.db, batch));
    await count(`second messages before ${name}`, BATCH, () => deliver(session.db, batch, 'other'));
    await count(name, BATCH, () => end(session.db, batch, outcome));
  }
  const late = claimed.splice(0, BATCH);
  await pool.query(`update millrace.jobs_live set start_by = now() where id = any($1::bigint[])`, [
    late.map(({ id }) => id),
  ]);
  await count('start of late jobs', BATCH, () => deliver(session.db, late));
  const claims = dead.map(({ id, claimNo }) => ({ jobId: id, claimNo }));
  await count('redrive', BATCH, async () => expect(await redrive(session.db, claims, 'api')).toHaveLength(BATCH));
  const asked = claimed.splice(0, BATCH);
  for (const { id } of asked) await cancel(db, id);
  await count('release', BATCH, () =>
    release(
      session.db,
      asked.map((job) => ({ ...job, holdSeconds: 0 })),
    ),
  );
  await count('cancel on request', BATCH, () => applyCancelRequests(session.db, 1000));
  await count('rescue', claimed.length, () => findExpiredAttempts(session.db, 1000));
  await count('lost messages', claimed.length, () => releaseExpiredDispatched(session.db, 1000));
  await count('unconfirmed dispatches', claimed.length, () => releaseUnconfirmed(session.db, 0));
  return costs;
}

const measureAlone = () => measureIn(test, warmUp, measure);

const MOST_FILTERED_ROWS = 5;

let friendly: Record<string, Costs>;
beforeAll(async () => {
  await stopAutovacuum(pool);
  await deploy(db, { jobType: 'mail', concurrency: 1000, maxInFlight: 10_000 });
  await pool.query('update millrace.handlers set max_in_flight = max_in_flight_cap');
  await pool.query(fill('mail', DUE));
  await pool.query('vacuum analyze millrace.jobs_live');
  friendly = await measureAlone();
});

describe.each(Object.entries(momentsOf(engine)))('with statistics that %s', (_moment, arrange) => {
  it('each statement reads only the pages of its jobs', async () => {
    const worse = await findWorseTwice(friendly, MOST_FILTERED_ROWS, async () => {
      await pool.query(`delete from millrace.jobs_live; delete from millrace.dead_letters;
        delete from millrace.cancel_requests; delete from millrace.dispatches; delete from millrace.unique_keys`);
      await arrange();
      return measureAlone();
    });

    expect(worse).toEqual({});
  });
});
