import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type ClaimedJob, claim } from '../../../core/jobs/claim.ts';
import { confirmDispatch } from '../../../core/jobs/confirm.ts';
import { release, releaseUnconfirmed } from '../../../core/jobs/release.ts';
import { releaseExpiredDispatched } from '../../../core/jobs/rescue.ts';
import { settle } from '../../../core/jobs/settle.ts';
import { start } from '../../../core/jobs/start.ts';
import type { Outcome } from '../../../core/outcome.ts';
import { readEpoch } from '../../../core/postgres/epoch.ts';
import { createClient } from '../../support/database.ts';
import { deploy, insertJobs, markRunning, openEngine, shiftClock, statuses } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

beforeEach(async () => {
  await pool.query(`delete from millrace.jobs_live; delete from millrace.dead_letters; delete from millrace.dispatches;
    delete from millrace.job_attempts; delete from millrace.handler_starts; delete from millrace.job_events`);
  await shiftClock(pool, 0);
  await deploy(db, { jobType: 'mail', timeout: 10, concurrency: 2 });
});

const ERROR = { name: 'Later', message: 'try later', stack: null, fingerprint: 'f' };
const jobs = async () => (await pool.query('select * from millrace.jobs_live order by id')).rows;

describe('release', () => {
  it('releases only jobs that are still dispatched under that claim', async () => {
    const ids = await insertJobs(pool, 'mail', 4);
    const claimed = await claim(db, 10);
    await markRunning(pool, [ids[1]!]);
    await pool.query('update millrace.jobs_live set claim_no = claim_no + 1 where id = $1', [ids[2]]);
    const holder = await createClient(engine.test.url);
    await holder.query('begin');
    await holder.query('select from millrace.jobs_live where id = $1 for update', [ids[3]]);

    const released = await release(
      db,
      claimed.map(({ id, claimNo }) => ({ id, claimNo, holdSeconds: 0 })),
    );

    expect(released).toEqual([ids[0]]);
    expect((await jobs()).map(({ status }) => status)).toEqual(['pending', 'running', 'dispatched', 'dispatched']);
  });

  it('costs no attempt and keeps the history of the job', async () => {
    await insertJobs(pool, 'mail', 1);
    await pool.query(
      `update millrace.jobs_live set status = 'failed', attempts = 2, last_error = 'boom', claim_no = 1,
         next_retry_at = now() - interval '1 second'`,
    );
    const [job] = await claim(db, 10);

    await release(db, [{ id: job!.id, claimNo: job!.claimNo, holdSeconds: 0 }]);

    expect(await jobs()).toMatchObject([{ status: 'pending', attempts: 2, last_error: 'boom', hold_until: null }]);
    expect(await claim(db, 10)).toHaveLength(1);
  });

  it('returns an empty list for an empty list', async () => {
    expect(await release(db, [])).toEqual([]);
  });
});

describe('an unconfirmed dispatch', () => {
  it('is released after sixty seconds, except for jobs that have started', async () => {
    const ids = await insertJobs(pool, 'mail', 5);
    await claim(db, 10);
    await markRunning(pool, ids.slice(0, 2));

    await shiftClock(pool, 59);
    const early = await releaseUnconfirmed(db, 60);
    await shiftClock(pool, 61);
    const late = await releaseUnconfirmed(db, 60);
    const again = await releaseUnconfirmed(db, 60);

    expect([early, late, again]).toEqual([0, 3, 0]);
    expect(await statuses(pool)).toEqual({ running: 2, pending: 3 });
    expect((await jobs()).map(({ attempts }) => attempts)).toEqual([1, 1, 0, 0, 0]);
  });

  it('is not released after its confirmation, and not confirmed after its release', async () => {
    await insertJobs(pool, 'mail', 1);
    const [first] = await claim(db, 10);
    const confirmed = await confirmDispatch(db, first!.claimNo, { sent: 1, refused: 0 });
    await insertJobs(pool, 'mail', 1);
    const [second] = await claim(db, 10);
    await shiftClock(pool, 61);

    const released = await releaseUnconfirmed(db, 60);
    const late = await confirmDispatch(db, second!.claimNo, { sent: 1, refused: 0 });

    expect([confirmed, released, late]).toEqual([true, 1, false]);
    expect((await jobs()).map(({ status }) => status)).toEqual(['dispatched', 'pending']);
  });

  it('is released by only one of many concurrent dispatchers', async () => {
    await insertJobs(pool, 'mail', 40);
    await claim(db, 100);
    await shiftClock(pool, 61);

    const released = await Promise.all(Array.from({ length: 8 }, () => releaseUnconfirmed(db, 60)));

    expect(released.reduce((sum, count) => sum + count, 0)).toBe(40);
  });
});

describe('a lost message', () => {
  const LATER = 24 * 3600;
  /** Claims due jobs and lets their lease expire. */
  const lose = async (round: number) => {
    await claim(db, 10);
    await shiftClock(pool, LATER * (round + 1));
    return releaseExpiredDispatched(db, 100);
  };
  const startLater = () =>
    pool.query('update millrace.handler_starts set claim_no = (select max(claim_no) + 1 from millrace.dispatches)');

  it('does not count as a loss while no later job of its handler has started', async () => {
    await insertJobs(pool, 'mail', 1);

    for (let round = 0; round < 12; round++) expect(await lose(round)).toBe(1);

    expect(await jobs()).toMatchObject([{ status: 'pending', losses: 0, attempts: 0 }]);
    expect((await pool.query('select * from millrace.job_attempts')).rows).toEqual([]);
  });

  it('counts as a loss when a later job has started, and the tenth loss makes a dead letter', async () => {
    const [id] = await insertJobs(pool, 'mail', 1);
    const seen: string[] = [];

    for (let round = 0; round < 10; round++) {
      await claim(db, 10);
      await startLater();
      await shiftClock(pool, LATER * (round + 1));
      await releaseExpiredDispatched(db, 100);
      const [job] = await jobs();
      seen.push(`${job.status} ${job.losses} ${job.attempts}`);
    }

    expect(seen).toEqual([...Array.from({ length: 9 }, (_, n) => `pending ${n + 1} 0`), 'dead_letter 10 0']);
    const last_error = expect.stringMatching(/^its message was lost 10 times: check its queue/);
    expect(await jobs()).toMatchObject([{ last_error }]);
    const { rows: letters } = await pool.query('select * from millrace.dead_letters');
    expect(letters).toMatchObject([{ job_id: id, status: 'open', last_error }]);
    const { rows } = await pool.query(
      'select outcome, count(*)::int as n from millrace.job_attempts group by 1 order by 1',
    );
    expect(rows).toEqual([
      { outcome: 'dead_letter', n: 1 },
      { outcome: 'lost', n: 9 },
    ]);
  });

  it.each<[string, Outcome]>([
    ['snoozed', { kind: 'snoozed', error: ERROR, delaySeconds: 1 }],
    ['failed', { kind: 'failed', error: ERROR, delaySeconds: 1 }],
  ])('counts from zero after a start, even when the attempt then %s', async (_what, outcome) => {
    await insertJobs(pool, 'mail', 1);
    await pool.query('update millrace.jobs_live set max_attempts = 1000');
    const address = { jobType: 'mail', routingKey: '', requestId: 'r', leaseSeconds: 0, suspects: true };

    for (let round = 0; round < 12; round++) {
      await claim(db, 10);
      await startLater();
      await shiftClock(pool, LATER * (2 * round + 1));
      await releaseExpiredDispatched(db, 100);
      const [{ id: jobId, claimNo }] = (await claim(db, 10)) as [ClaimedJob];
      const message = { epoch: await readEpoch(db), jobId, claimNo, messageId: `${round}`, sentAt: 1 };
      await start(db, { ...address, requests: [message] });
      await settle(db, [{ jobId, claimNo, outcome }], { requestId: 'r' });
      await shiftClock(pool, LATER * (2 * round + 2));
    }

    expect(await jobs()).toMatchObject([{ losses: 0, last_error: outcome.kind === 'failed' ? 'try later' : null }]);
  });

  it('is not released before its lease expires', async () => {
    await insertJobs(pool, 'mail', 1);
    await claim(db, 10);
    const [{ lease }] = (
      await pool.query(
        'select extract(epoch from lease_expires_at - dispatched_at)::float8 as lease from millrace.jobs_live',
      )
    ).rows;

    await shiftClock(pool, lease - 5);
    const early = await releaseExpiredDispatched(db, 100);
    await shiftClock(pool, lease + 1);
    const late = await releaseExpiredDispatched(db, 100);

    expect([early, late]).toEqual([0, 1]);
  });
});
