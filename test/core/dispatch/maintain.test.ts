import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { analyzeJobs } from '../../../core/dispatch/dispatcher-run.ts';
import { foldEvents } from '../../../core/dispatch/fold-events.ts';
import { type MaintainDeps, maintain } from '../../../core/dispatch/maintain.ts';
import { cancel } from '../../../core/jobs/cancel.ts';
import { claim } from '../../../core/jobs/claim.ts';
import { createClient } from '../../support/database.ts';
import { deploy, insertJobs, openEngine, shiftClock, statuses } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());

let deps: MaintainDeps;
beforeEach(async () => {
  await pool.query(`delete from millrace.jobs_live; delete from millrace.job_events;
    delete from millrace.job_event_totals;
    delete from millrace.dead_letters; delete from millrace.handlers;
    update millrace.dispatcher_runs set last_hourly_at = millrace.clock()`);
  await shiftClock(pool, 0);
  log.lines.length = 0;
  deps = { db, log, retentionSeconds: 7 * 86_400, reported: new Set() };
});

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

  it('exclude rolled-back transactions, and include late commits', async () => {
    const late = await createClient(engine.test.url);
    await late.query('begin');
    await late.query(`insert into millrace.jobs (job_type) values ('mail'), ('mail')`);
    await insertJobs(pool, 'mail', 1);
    await foldEvents(db);
    const before = await totals();

    await late.query('commit');
    const dropped = await createClient(engine.test.url);
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
      const client = await createClient(engine.test.url);
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

describe('jobs without a handler', () => {
  it("are reported once for each address, with the handler's name", async () => {
    await deploy(db, { jobType: 'mail' }, { jobType: 'index', routingKey: 'vector' });
    await insertJobs(pool, 'mail', 1);
    await insertJobs(pool, 'typo_x', 3);
    await insertJobs(pool, 'index', 1);
    await pool.query(
      `insert into millrace.jobs (job_type, routing_key) values ('index', 'vector'), ('index', 'keyword')`,
    );

    await maintain(deps);
    await maintain(deps);

    const reasons = log.events('no_handler').map(({ reason }) => reason);
    expect(reasons.sort()).toEqual(['no handler for index', 'no handler for index.keyword', 'no handler for typo_x']);
  });

  it('become dead letters a day after they are due, without an attempt, and can be redriven', async () => {
    const [id] = await insertJobs(pool, 'typo_x', 1);
    await pool.query(`insert into millrace.jobs (job_type, run_at) values ('typo_x', now() + interval '10 hours')`);

    await shiftClock(pool, 23 * 3600);
    await maintain(deps);
    const young = await statuses(pool);
    await shiftClock(pool, 24 * 3600 + 60);
    await maintain(deps);
    const old = await statuses(pool);
    const { rows } = await pool.query('select * from millrace.dead_letters');
    await pool.query('select millrace.retry($1)', [id]);
    await maintain(deps);

    expect([young, old]).toEqual([{ pending: 2 }, { pending: 1, dead_letter: 1 }]);
    expect(rows).toMatchObject([
      { job_id: id, job_type: 'typo_x', last_error: 'no handler for typo_x', status: 'open' },
    ]);
    expect(await statuses(pool)).toEqual({ pending: 2 });
  });

  it('do not become dead letters once their handler is deployed, regardless of their wait', async () => {
    await insertJobs(pool, 'late', 1);
    await deploy(db, { jobType: 'late' });
    await shiftClock(pool, 48 * 3600);

    await maintain(deps);

    expect(await statuses(pool)).toEqual({ pending: 1 });
  });

  it('are found among many types', async () => {
    await deploy(db, ...Array.from({ length: 40 }, (_, n) => ({ jobType: `known_${n}` })));
    await pool.query(`insert into millrace.jobs (job_type) select 'known_' || n % 40 from generate_series(1, 400) n`);
    await pool.query(`insert into millrace.jobs (job_type) select 'unknown_' || n from generate_series(1, 30) n`);

    await maintain(deps);

    expect(log.events('no_handler')).toHaveLength(30);
  });
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

it('does the hourly work once an hour across callers', async () => {
  await pool.query('update millrace.dispatcher_runs set last_hourly_at = null');

  await Promise.all(Array.from({ length: 4 }, () => maintain(deps)));
  const first = log.events('pruned').length;
  await shiftClock(pool, 3500);
  await maintain(deps);
  const second = log.events('pruned').length;
  await shiftClock(pool, 3700);
  await maintain(deps);

  expect([first, second, log.events('pruned').length]).toEqual([1, 1, 2]);
});

it('skips the statistics while another transaction has locked a table', async () => {
  const busy = await createClient(engine.test.url);
  await busy.query('begin; lock table millrace.jobs_live in share update exclusive mode');
  await analyzeJobs(db);
  await busy.query('rollback');
  await insertJobs(pool, 'mail', 5);
  await analyzeJobs(db);

  const { rows } = await pool.query(`select reltuples::int as n from pg_class where oid = 'millrace.jobs'::regclass`);
  expect(rows[0].n).toBeGreaterThanOrEqual(5);
});
