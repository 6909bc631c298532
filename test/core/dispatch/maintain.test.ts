import { describe, expect, it } from 'vitest';
import { foldEvents } from '../../../core/dispatch/fold-events.ts';
import { maintain } from '../../../core/dispatch/maintain.ts';
import { cancel } from '../../../core/jobs/cancel.ts';
import { claim } from '../../../core/jobs/claim.ts';
import type { Metrics } from '../../../core/numbers/emf.ts';
import { createClient } from '../../support/database.ts';
import { deploy, insertJobs } from '../../support/runtime-engine.ts';
import { openMaintainWorld } from './maintain-world.ts';

const { test, pool, db, log, deps } = await openMaintainWorld();

const totals = async () =>
  (await pool.query('select event, job_type, status, count::int from millrace.job_event_totals order by 1, 2, 3')).rows;
/** The counts of a scrape: totals and rows not yet added to them, in one snapshot. */
const shown = async (): Promise<number> =>
  (
    await pool.query(`select coalesce((select sum(count) from millrace.job_event_totals), 0)
      + coalesce((select sum(count) from millrace.job_events), 0) as n`)
  ).rows[0].n;

describe('the counters', () => {
  it('are added to totals without loss', async () => {
    await deploy(db, { jobType: 'mail' }, { jobType: 'index' });
    await insertJobs(pool, 'mail', 30);
    await insertJobs(pool, 'index', 5);
    await foldEvents(db);
    await insertJobs(pool, 'mail', 2);
    await foldEvents(db);
    await foldEvents(db);

    expect(await totals()).toEqual([
      { event: 'enqueued', job_type: 'index', status: 'pending', count: 5 },
      { event: 'enqueued', job_type: 'mail', status: 'pending', count: 32 },
    ]);
    expect((await pool.query('select * from millrace.job_events')).rows).toEqual([]);
  });

  it.each(['job_events', 'job_timings'])('are added faster than single enqueues append rows: %s', async (table) => {
    await deploy(db, { jobType: 'mail' });
    await pool.query(
      table === 'job_events'
        ? `insert into millrace.job_events select 'enqueued', 'mail', 'pending', 1 from generate_series(1, 41000)`
        : `insert into millrace.job_timings select 'mail', 'succeeded', 1, 1, 1, 1, 1 from generate_series(1, 41000)`,
    );
    const counts: number[] = [];
    const metrics = { put: ({ Enqueued = 0 }: { Enqueued?: number }) => counts.push(Enqueued) };

    await maintain({ ...deps, metrics: metrics as unknown as Metrics });

    expect((await pool.query(`select * from millrace.${table}`)).rows).toEqual([]);
    expect(Math.max(...counts)).toBe(table === 'job_events' ? 41_000 : 0);
  });

  it('name the job types that have or had a handler, and add up all others', async () => {
    await deploy(db, { jobType: 'mail' }, { jobType: 'gone' });
    await deploy(db, { jobType: 'mail' });
    for (const jobType of ['mail', 'gone', 'typo_x', 'typo_y']) await insertJobs(pool, jobType, 2);

    await foldEvents(db);

    expect(await totals()).toMatchObject([
      { job_type: '_other', count: 4 },
      { job_type: 'gone', count: 2 },
      { job_type: 'mail', count: 2 },
    ]);
  });

  it('exclude rolled-back transactions, and include late commits', async () => {
    const late = await createClient(test.url);
    await late.query('begin');
    await late.query(`insert into millrace.jobs (job_type) values ('mail'), ('mail')`);
    await insertJobs(pool, 'mail', 1);
    await foldEvents(db);
    const before = await totals();

    await late.query('commit');
    const dropped = await createClient(test.url);
    await dropped.query('begin');
    await dropped.query(`insert into millrace.jobs (job_type) values ('mail')`);
    await dropped.query('rollback');
    await foldEvents(db);

    expect(before).toMatchObject([{ count: 1 }]);
    expect(await totals()).toMatchObject([{ count: 3 }]);
  });

  it('are exact while eight sessions fold and eight enqueue, some with a rollback', async () => {
    let done = false;
    const seen: number[] = [];
    const scrape = async () => {
      while (!done) seen.push(Number(await shown()));
    };
    const fold = async () => {
      while (!done) await foldEvents(db);
    };
    const produce = async (lane: number) => {
      const client = await createClient(test.url);
      for (let n = 0; n < 25; n++) {
        await client.query('begin');
        await client.query(`insert into millrace.jobs (job_type) select $1 from generate_series(1, 4)`, [
          `t${lane % 3}`,
        ]);
        await client.query(n % 5 === 4 ? 'rollback' : 'commit');
      }
    };

    const watchers = [scrape(), ...Array.from({ length: 8 }, fold)];
    await Promise.all(Array.from({ length: 8 }, (_, lane) => produce(lane)));
    done = true;
    await Promise.all(watchers);
    await foldEvents(db);

    expect(Number(await shown())).toBe(8 * 20 * 4);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect((await totals()).reduce((sum, { count }) => sum + count, 0)).toBe(8 * 20 * 4);
  });
});

it('does the rest when one of its statements fails', async () => {
  await deploy(db, { jobType: 'mail' });
  await insertJobs(pool, 'mail', 1);
  await insertJobs(pool, 'typo_x', 1);
  await pool.query('alter table millrace.cancel_requests rename to hidden');

  await maintain(deps);
  await pool.query('alter table millrace.hidden rename to cancel_requests');

  expect(log.events('maintain_failed')).toHaveLength(1);
  expect([(await totals()).length, log.events('no_handler').length]).toEqual([2, 1]);
});

it('applies a cancel request when its job waits again', async () => {
  await deploy(db, { jobType: 'mail' });
  const [id] = await insertJobs(pool, 'mail', 1);
  await claim(db, 10);
  const answer = await cancel(db, id!);
  await pool.query(`update millrace.jobs_live set status = 'pending', lease_expires_at = null`);

  await maintain(deps);

  const { rows } = await pool.query('select status from millrace.jobs where id = $1', [id]);
  expect([answer, rows]).toEqual(['requested', [{ status: 'cancelled' }]]);
});
