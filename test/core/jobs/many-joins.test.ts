import { expect, it } from 'vitest';
import { advanceJoins } from '../../../core/jobs/advance-joins.ts';
import { openLog } from '../../../core/log.ts';
import type { Database, Queryable } from '../../../core/postgres/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { openWatched, plansOf, stopAutovacuum } from '../../support/plans.ts';
import { stillTime } from '../../support/still-time.ts';

const engine = await openDatabaseEngine();

/** Inserts jobs that wait for one child each; `finished` of the children, from the first, have finished. */
async function insertJoins(count: number, finished: number): Promise<void> {
  await engine.sql(
    `insert into millrace.jobs_live (id, job_type, max_attempts, hold_until)
       select n, 'merge', 5, timestamptz '9999-12-31 00:00:00+00' from generate_series(1, $1::integer) n`,
    [count],
  );
  await engine.sql(
    `insert into millrace.jobs_live (id, job_type, max_attempts)
       select 100000 + n, 'work', 5 from generate_series($2::integer + 1, $1) n`,
    [count, finished],
  );
  await engine.sql(
    `insert into millrace.job_joins (job_id, parent_id, children, past_dead)
       select n, 0, array[100000 + n], false from generate_series(1, $1::integer) n`,
    [count],
  );
}

it('looks at thousands of jobs that wait for running children with one statement for each thousand', async () => {
  await insertJoins(2_500, 3);
  let statements = 0;
  const query: Queryable['query'] = (text, values) => {
    statements += 1;
    return engine.db.keyed.query(text, values);
  };
  const deps = { db: { ...engine.db, keyed: { query } }, log: openLog(() => undefined), time: stillTime() };
  const place = { position: '0' };

  expect(await advanceJoins(deps, place)).toBe(3);

  expect(place.position).toBe('0');
  expect(statements).toBe(3 + 3);
});

const look = (db: Database) =>
  advanceJoins({ db, log: openLog(() => undefined), time: stillTime() }, { position: '0' });

it.each([
  ['never analyzed', undefined],
  ['analyzed while they were few', 3],
  ['analyzed', 3_000],
])('reads the jobs that wait in the order of their index when they were %s', async (_when, analyzedAt) => {
  await stopAutovacuum(engine.database.pool);
  await engine.sql('truncate millrace.job_joins');
  if (analyzedAt !== undefined) {
    await insertJoins(analyzedAt, 0);
    await engine.sql('analyze millrace.job_joins');
    await engine.sql('delete from millrace.job_joins; delete from millrace.jobs_live');
  }
  await insertJoins(3_000, 0);

  const plans = await plansOf({ url: engine.database.url }, look);

  const looks = plans.filter((plan) => plan.includes('job_joins'));
  expect(looks.length).toBeGreaterThan(2);
  for (const plan of looks) expect(plan).not.toMatch(/Sort|Bitmap|Seq Scan/);
});

it.each([100, 1_000, 10_000])('reads no list of children of a job that waits for the first of %s', async (children) => {
  await insertJoins(50, 0);
  await engine.sql(
    `update millrace.job_joins set children = children || array(select n * 1000003::bigint from generate_series(1, $1) n)`,
    [children],
  );

  const session = await openWatched({ url: engine.database.url });
  // The first look reads the catalogs, too, and sees the rows of earlier tests.
  await session.costs(() => look(session.db));
  await engine.sql('vacuum millrace.job_joins, millrace.jobs_live');
  // Roles that other tests create make a session read the catalogs again.
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < 3; time++) least = Math.min(least, (await session.costs(() => look(session.db))).pages);
  await session.close();

  expect(least).toBeLessThan(300);
});

it('finds the next child after some have finished, and after the last', async () => {
  await insertJoins(2, 0);
  await engine.sql(`update millrace.job_joins set children = array[100001, 100002, 100003]`);
  await engine.sql('delete from millrace.jobs_live where id = 100001');

  expect(await look(engine.db)).toBe(0);
  expect(await engine.sql('select finished, next_child::int from millrace.job_joins')).toEqual([
    { finished: 1, next_child: 100002 },
    { finished: 1, next_child: 100002 },
  ]);
  await engine.sql('delete from millrace.jobs_live where id > 100000');
  expect(await look(engine.db)).toBe(2);
  expect(await engine.sql('select next_child from millrace.job_joins')).toEqual([
    { next_child: null },
    { next_child: null },
  ]);
});
