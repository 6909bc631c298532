import { afterAll, describe, expect, it } from 'vitest';
import { foldEvents } from '../../../core/dispatch/fold-events.ts';
import { applyCancelRequests, cancel } from '../../../core/jobs/cancel.ts';
import { claim } from '../../../core/jobs/claim.ts';
import { redrive } from '../../../core/jobs/redrive.ts';
import { release, releaseUnconfirmed } from '../../../core/jobs/release.ts';
import { releaseExpiredDispatched } from '../../../core/jobs/rescue.ts';
import { settle } from '../../../core/jobs/settle.ts';
import { start } from '../../../core/jobs/start.ts';
import type { Outcome } from '../../../core/outcome.ts';
import { readEpoch } from '../../../core/postgres/epoch.ts';
import { rescue } from '../../../core/run/rescue-lost.ts';
import { deploy, insertJobs, openEngine, statuses } from '../../support/runtime-engine.ts';

const engine = await openEngine({ connections: 8 });
const { pool, db } = engine;
afterAll(() => engine.close());

/** How often each session does its work. Of 12 rounds, chance left fewer than 20 successes now and then. */
const ROUNDS = 60;
const error = { name: 'Error', message: 'boom', stack: null, fingerprint: 'f' };
const OUTCOMES: Outcome[] = [
  { kind: 'succeeded', result: null },
  { kind: 'failed', error, delaySeconds: 0 },
  { kind: 'failed', error, delaySeconds: 0 },
  { kind: 'dead_letter', error },
  { kind: 'snoozed', error, delaySeconds: 0 },
];
const shuffled = <T>(items: readonly T[]): T[] =>
  items
    .map((item) => [Math.random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);

describe('PGC-08', () => {
  it('eight sessions that claim, start, settle, rescue, cancel and redrive the same 200 jobs lose no job', async () => {
    await deploy(db, { jobType: 'mail', concurrency: 100, maxAttempts: 1000 });
    const epoch = await readEpoch(db);
    const ids = await insertJobs(pool, 'mail', 200);
    const successes = new Map<string, number>();
    const failures: unknown[] = [];
    let requests = 0;

    const worker = async () => {
      const claimed = shuffled(await claim(db, 60));
      const requestId = `r-${++requests}`;
      const asked = claimed.map(({ id, claimNo }) => ({
        epoch,
        jobId: id,
        claimNo,
        messageId: `${requestId}-${id}`,
        sentAt: 1,
      }));
      const { answers } = await start(db, {
        jobType: 'mail',
        routingKey: '',
        requestId,
        requests: asked,
        leaseSeconds: 0,
        suspects: true,
      });
      const running = claimed.filter((_, n) => answers[n]?.verdict === 'started');
      const settlements = running.map(({ id, claimNo }, n) => ({ jobId: id, claimNo, outcome: OUTCOMES[n % 5]! }));
      for (const { jobId, status } of await settle(db, shuffled(settlements), { requestId })) {
        if (status === 'succeeded') successes.set(jobId, (successes.get(jobId) ?? 0) + 1);
      }
    };
    const roles: (() => Promise<unknown>)[] = [
      worker,
      worker,
      worker,
      async () => {
        await pool.query(
          `update millrace.jobs_live set lease_expires_at = millrace.clock() - interval '1 second'
             where id in (select id from millrace.jobs_live where in_flight order by random() limit 5
                            for update skip locked)`,
        );
        await rescue({ db, random: Math.random });
        await releaseExpiredDispatched(db, 100);
      },
      async () => {
        for (const id of shuffled(ids).slice(0, 2)) await cancel(db, id);
        await applyCancelRequests(db, 100);
      },
      async () => {
        const { rows } = await pool.query(`select id, claim_no from millrace.jobs_live where status = 'dead_letter'`);
        await redrive(
          db,
          shuffled(rows).map(({ id, claim_no }) => ({ jobId: id, claimNo: claim_no })),
          'test',
        );
        await foldEvents(db);
      },
      async () => {
        const claimed = shuffled(await claim(db, 20));
        await release(
          db,
          claimed.map(({ id, claimNo }) => ({ id, claimNo, holdSeconds: 0 })),
        );
      },
      async () => {
        await releaseUnconfirmed(db, 0);
        await foldEvents(db);
      },
    ];
    await Promise.all(
      roles.map(async (role) => {
        for (let round = 0; round < ROUNDS; round++) await role().catch((failure: unknown) => failures.push(failure));
      }),
    );

    const { rows } = await pool.query<{ id: string; n: number }>(
      'select id, count(*)::int as n from millrace.jobs group by 1 order by 1',
    );
    expect(failures).toEqual([]);
    expect(rows).toEqual(ids.map((id) => ({ id, n: 1 })));
    expect([...successes.values()].filter((n) => n !== 1)).toEqual([]);
    expect((await statuses(pool)).succeeded).toBe(successes.size);
    expect(successes.size).toBeGreaterThan(20);
    const letters = await pool.query(
      `select j.id from millrace.jobs_live j left join millrace.dead_letters d on d.job_id = j.id and d.status = 'open'
         where (j.status = 'dead_letter') <> (d.id is not null)`,
    );
    expect(letters.rows).toEqual([]);
  });
});
