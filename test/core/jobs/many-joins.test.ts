import { expect, it } from 'vitest';
import { advanceJoins } from '../../../core/jobs/advance-joins.ts';
import { openLog } from '../../../core/log.ts';
import type { Queryable } from '../../../core/postgres/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
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
