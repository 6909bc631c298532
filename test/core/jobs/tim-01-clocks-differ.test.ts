import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { decodeMessage } from '../../../core/aws/message.ts';
import { dispatch } from '../../../core/dispatch/dispatch.ts';
import { releaseUnconfirmed } from '../../../core/jobs/release.ts';
import { settle } from '../../../core/jobs/settle.ts';
import { start } from '../../../core/jobs/start.ts';
import { rescue } from '../../../core/run/rescue-lost.ts';
import { deploy, memoryQueues, openEngine, statuses } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());

beforeEach(async () => {
  await pool.query(
    'delete from millrace.jobs_live; delete from millrace.jobs_finished; delete from millrace.dispatches',
  );
  await deploy(db, { jobType: 'mail', timeout: 30 });
});

describe.each([0, 10, -10, 24 * 60, -365 * 24 * 60])(
  'TIM-01 with a process %d minutes ahead of the database',
  (minutes) => {
    it('dispatches the same jobs, takes no lease and reports no negative duration', async () => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * 60_000 });
      await pool.query(`insert into millrace.jobs (job_type, run_at) values ('mail', now() - interval '1 minute'),
      ('mail', now() + interval '5 minutes'), ('mail', now() - interval '2 minutes')`);
      const queues = memoryQueues();

      await dispatch({ db, queues, log, random: () => 1 }, 1000);
      const requests = queues.sent.map(({ body }, n) => {
        return { ...decodeMessage(body)!, messageId: `m-${n}`, sentAt: Date.now() };
      });
      const { answers } = await start(db, {
        jobType: 'mail',
        routingKey: '',
        requestId: 'r',
        requests,
        leaseSeconds: 0,
        suspects: true,
      });
      const rescued = await rescue({ db, random: () => 0.5 });
      const released = await releaseUnconfirmed(db, 60);
      const during = await statuses(pool);
      await settle(
        db,
        requests.map(({ jobId, claimNo }) => ({ jobId, claimNo, outcome: { kind: 'succeeded', result: null } })),
        { requestId: 'r' },
      );
      vi.useRealTimers();

      expect(answers.map(({ verdict }) => verdict)).toEqual(['started', 'started']);
      expect([rescued, released]).toEqual([{ attempts: 0, releases: 0 }, 0]);
      expect(during).toEqual({ running: 2, pending: 1 });
      const { rows } = await pool.query(`
      select created_at <= dispatched_at and dispatched_at <= started_at and started_at <= finished_at as ordered,
             abs(extract(epoch from finished_at - now())) < 60 as by_the_database
        from millrace.jobs_finished`);
      expect(rows).toEqual([
        { ordered: true, by_the_database: true },
        { ordered: true, by_the_database: true },
      ]);
    });
  },
);
