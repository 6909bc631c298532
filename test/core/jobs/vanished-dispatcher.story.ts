import { afterAll, expect, it } from 'vitest';
import { claim } from '../../../core/jobs/claim.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import { eventually } from '../../support/eventually.ts';
import { deploy, insertJobs, openEngine, recordLog } from '../../support/runtime-engine.ts';
import { startProxy } from '../../support/silent-proxy.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

it.each([
  ['between the two statements of a claim', 'with turn as'],
  ['before the commit of a claim', 'commit\0'],
])('a dispatcher that vanishes %s does not stop the others', async (_moment, last) => {
  await pool.query('delete from millrace.jobs_live');
  await deploy(db, { jobType: 'mail' });
  await insertJobs(pool, 'mail', 5);
  let isUp = false;
  const { url } = await startProxy(engine.runtimeUrl, (chunk) => !(isUp && chunk.includes(last)));
  const vanished = openDatabase({ connectionString: url, max: 1, name: 'vanished', log: recordLog() });
  await vanished.query('select 1');
  isUp = true;
  void claim(vanished, 10).catch(() => undefined);
  await eventually(async () => {
    // The session is also idle for a moment after its `begin`, before it has locked a row.
    const { rows } = await pool.query(`select from pg_stat_activity
      where datname = current_database() and application_name = 'vanished'
        and state = 'idle in transaction' and query not like 'begin%'`);
    expect(rows).toHaveLength(1);
  });
  const meanwhile = await claim(db, 10);

  const claimed = await eventually(async () => {
    const jobs = await claim(db, 10);
    expect(jobs).toHaveLength(5);
    return jobs;
  });

  expect(meanwhile).toEqual([]);
  expect(claimed).toHaveLength(5);
  await vanished.close();
});
