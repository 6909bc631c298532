import { expect, it } from 'vitest';
import { countJobs } from '../../../core/numbers/count-jobs.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { deploy } from '../../support/runtime-engine.ts';
import { runCli } from '../run-cli.ts';

const engine = await openDatabaseEngine();
const run = (...args: string[]) => runCli(args, { env: { DATABASE_URL: engine.database.url } });
const list = async () => JSON.parse((await run('handlers', '--json')).stdout).items;

const FILL = `
  insert into millrace.jobs_live
      (job_type, routing_key, status, attempts, max_attempts, claim_no, next_retry_at, started_at, lease_expires_at)
    values ('mail', '', 'pending', 0, 2, null, null, null, null),
           ('mail', '', 'running', 1, 2, 1, null, now(), now() + interval '1 h'),
           ('mail', '', 'dispatched', 1, 2, 1, null, null, now() + interval '1 h'),
           ('mail', '', 'failed', 1, 2, 1, now() + interval '1 h', null, null),
           ('mail', '', 'dead_letter', 2, 2, 1, null, null, null),
           ('mail', 'fast', 'failed', 1, 2, 1, now() + interval '1 h', null, null),
           ('unhandled', '', 'failed', 1, 2, 1, now() + interval '1 h', null, null)`;
const NONE = { pending: 0, dispatched: 0, running: 0, failed: 0, dead_letter: 0 };

it('handlers prints the job counts of each handler', async () => {
  await deploy(engine.db, { jobType: 'mail' }, { jobType: 'mail', routingKey: 'fast' }, { jobType: 'idle' });
  await engine.sql(FILL);

  const lines = (await run('handlers')).stdout;
  const items = await list();

  expect(lines).toMatch(/^mail\topen\t2 of \d+\t1\t1\t1\t1\t/m);
  expect(lines).toMatch(/^mail.fast\topen\t0 of \d+\t0\t0\t1\t0\t/m);
  expect(items.map(({ jobs }: { jobs: object }) => jobs)).toEqual([
    NONE,
    { pending: 1, dispatched: 1, running: 1, failed: 1, dead_letter: 1 },
    { ...NONE, failed: 1 },
  ]);
  expect(Date.parse(items[0].counted_at)).toBeGreaterThan(0);
});

it('handlers does not count a large table, and prints the counts of the mirror', async () => {
  await deploy(engine.db, { jobType: 'mail' }, { jobType: 'mail', routingKey: 'fast' });
  await engine.sql(`insert into millrace.jobs_live (job_type, routing_key, run_at)
    select 'mail', case when n % 2 = 0 then 'fast' else '' end, now() from generate_series(1, 50002) n`);

  const uncounted = await run('handlers');
  const [before] = await list();
  await countJobs(engine.db, null);
  await engine.sql(FILL);
  const after = await list();

  expect(uncounted.stdout).toMatch(/^mail\topen\t0 of \d+\t-\t-\t-\t-\t/m);
  expect(before).toMatchObject({ jobs: null, counted_at: null });
  expect(after.map(({ jobs }: { jobs: object }) => jobs)).toEqual([
    { ...NONE, pending: 25_001 },
    { ...NONE, pending: 25_001 },
  ]);
});
