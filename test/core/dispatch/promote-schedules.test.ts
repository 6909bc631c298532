import { afterAll, beforeEach, expect, it } from 'vitest';
import { runOnce } from '../../../core/dispatch/dispatcher.ts';
import { systemTime } from '../../../core/time.ts';
import { deploy, insertJobs, memoryQueues, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());

let queues = memoryQueues();
beforeEach(async () => {
  await pool.query(
    'delete from millrace.jobs_live; delete from millrace.schedules; delete from millrace.schedule_ticks',
  );
  await deploy(db, { jobType: 'mail' });
  queues = memoryQueues();
  log.lines.length = 0;
});

const dispatchOnce = () => runOnce({ db, queues, log, time: systemTime, random: () => 0.5 });

it('a round sends the job of a tick that is due', async () => {
  await pool.query(`insert into millrace.schedules (name, job_type, every_seconds, since)
    values ('often', 'mail', 60, millrace.clock() - interval '61 s')`);

  const dispatched = await dispatchOnce();

  expect(dispatched).toEqual({ claimed: 1, sent: 1 });
  expect(log.events('schedules_enqueued')).toMatchObject([{ jobs: 1 }]);
});

it('a round sends other jobs when the schedules fail', async () => {
  await insertJobs(pool, 'mail', 1);
  await pool.query('alter table millrace.schedules rename to hidden');

  const dispatched = await dispatchOnce();

  await pool.query('alter table millrace.hidden rename to schedules');
  expect(dispatched).toEqual({ claimed: 1, sent: 1 });
  expect(log.events('schedules_failed')).not.toEqual([]);
});

it('a round enqueues large payloads in several statements', async () => {
  await pool.query(`insert into millrace.schedules (name, job_type, every_seconds, since, payload)
    select 'large-' || n, 'mail', 60, millrace.clock() - interval '61 s',
           (select jsonb_build_object('text', string_agg(md5(n::text || m::text), '')) from generate_series(1, 30000) m)
      from generate_series(1, 12) n`);
  let statements = 0;
  const limited: typeof db.limited = (limits) => {
    statements += 1;
    return db.limited(limits);
  };

  const time = { ...systemTime, now: () => 0 };

  const dispatched = await runOnce({ db: { ...db, limited }, queues, log, time, random: () => 0.5 });

  expect(dispatched.sent).toBe(12);
  expect(statements).toBeGreaterThan(1);
});
