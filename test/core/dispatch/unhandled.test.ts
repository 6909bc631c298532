import { describe, expect, it } from 'vitest';
import { type MaintainDeps, maintain } from '../../../core/dispatch/maintain.ts';
import type { Queryable } from '../../../core/postgres/database.ts';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { deploy, insertJobs, shiftClock, statuses } from '../../support/runtime-engine.ts';
import { openMaintainWorld } from './maintain-world.ts';

const { pool, db, log, deps } = await openMaintainWorld();

describe('jobs without a handler', () => {
  it.each([
    [['typo_x'], 'no handler for typo_x'],
    [['typo_x', 'index.keyword', 'index'], 'no handler for index, index.keyword, typo_x'],
    [Array.from({ length: 40 }, (_, n) => `t${10 + n}`), 'no handler for t10, t11, t12 and 37 more'],
  ])('are reported once, by the names of their handlers: %s', async (names, reason) => {
    await deploy(db, { jobType: 'mail' }, { jobType: 'index', routingKey: 'vector' });
    await pool.query(
      `insert into millrace.jobs (job_type, routing_key)
         select split_part(name, '.', 1), split_part(name, '.', 2)
           from unnest($1::text[] || array['mail', 'index.vector']) name, generate_series(1, 3)`,
      [names],
    );

    await maintain(deps);
    await maintain(deps);

    expect(log.events('no_handler').map((line) => line.reason)).toEqual([reason]);
  });

  it('are remembered as reported in a limited number, however many job types a producer inserts', async () => {
    await pool.query(`insert into millrace.jobs (job_type) select 'typo_' || n from generate_series(1, 6500) n`);

    for (let part = 0; part < 13; part++) await maintain(deps);

    expect(log.events('no_handler').length).toBeGreaterThan(11);
    expect(deps.reported.size).toBeLessThan(5600);
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

  it.each([
    ['thousands of types, each with one job', 2_500, 1],
    ['one type with thousands of jobs', 1, 2_500],
    ['many types with many jobs', 50, 50],
  ])('die part by part, each a bounded statement: %s', async (_name, types, each) => {
    await pool.query(
      `insert into millrace.jobs (job_type) select 't' || t from generate_series(1, $1) t, generate_series(1, $2)`,
      [types, each],
    );
    await shiftClock(pool, 25 * 3600);
    let statements = 0;
    const counting: MaintainDeps = {
      ...deps,
      db: { ...db, transaction: (work, own) => db.transaction(async (tx) => work(counted(tx)), own) },
    };
    const counted = (tx: Queryable): Queryable => ({
      query: (text, values) => {
        statements += 1;
        return tx.query(text, values);
      },
    });

    const rounds: number[] = [];
    while ((await statuses(pool)).pending) {
      await maintain(counting);
      rounds.push((await statuses(pool)).dead_letter ?? 0);
    }

    expect(rounds.at(-1)).toBe(types * each);
    expect(rounds.map((dead, n) => dead - (rounds[n - 1] ?? 0)).every((died) => died <= 1000)).toBe(true);
    // Four of this step, and four of the one that applies cancel requests.
    expect(statements).toBe(8 * rounds.length);
    expect(log.events('no_handler').length).toBeLessThanOrEqual(rounds.length);
  });

  it.each([
    ['its handler was removed an hour ago', '3 days', '3 days', '1 hour', 'pending'],
    ['its handler was removed a day ago', '3 days', '3 days', '25 hours', 'dead_letter'],
    ['it was enqueued an hour ago for last week', '7 days', '1 hour', null, 'pending'],
    ['it was retried, and has been due for an hour', '1 hour', '9 days', '9 days', 'pending'],
  ])('wait a day from the last of their times: %s', async (_name, ...row) => {
    const [due, enqueued, removed, status] = row;
    await pool.query(
      `insert into millrace.jobs_live (job_type, max_attempts, run_at, created_at)
         values ('gone', 5, millrace.clock() - $1::interval, millrace.clock() - $2::interval)`,
      [due, enqueued],
    );
    if (removed !== null) {
      await deploy(db, { jobType: 'gone' });
      await registerHandlers({ db, stage: 'local' }, []);
      await pool.query('update millrace.removed_handlers set removed_at = millrace.clock() - $1::interval', [removed]);
    }

    await maintain(deps);

    expect(await statuses(pool)).toEqual({ [String(status)]: 1 });
  });

  it('count the day again when their handler returns and leaves', async () => {
    await insertJobs(pool, 'gone', 1);
    await deploy(db, { jobType: 'gone' });
    await registerHandlers({ db, stage: 'local' }, []);
    await shiftClock(pool, 23 * 3600);
    await deploy(db, { jobType: 'gone' });
    const returned = (await pool.query('select * from millrace.removed_handlers')).rowCount;
    await registerHandlers({ db, stage: 'local' }, []);
    await shiftClock(pool, 46 * 3600);

    await maintain(deps);

    expect([returned, await statuses(pool)]).toEqual([0, { pending: 1 }]);
  });
});
