import { afterAll, beforeEach, expect, it } from 'vitest';
import { startRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { workOffOperations } from '../../../core/dispatch/work-off-operations.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { systemTime } from '../../../core/time.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());

let steps: string[] = [];
const counted: Database = {
  ...db,
  query: (text, values) => {
    if (text.includes('step_operation')) steps.push(String(values?.[0]));
    return db.query(text, values);
  },
};
const running = async (): Promise<string[]> =>
  (await pool.query(`select id::text from millrace.operations where status = 'running' order by id`)).rows.map(
    ({ id }) => id,
  );

beforeEach(async () => {
  await pool.query(
    `delete from millrace.jobs_live; delete from millrace.dead_letters; delete from millrace.operations`,
  );
  await deploy(db, { jobType: 'mail' });
  await pool.query(`with dead as (
      insert into millrace.jobs_live (job_type, status, claim_no, attempts, max_attempts)
        select 'mail', 'dead_letter', 1, 1, 1 from generate_series(1, 100) returning id)
    insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error)
      select id, 1, 'mail', '', 'no' from dead`);
  log.lines.length = 0;
});

/** Advances the redrives in one round, and returns the ids of their steps. */
async function round(msOfAStep: number): Promise<string[]> {
  steps = [];
  const time = { ...systemTime, now: () => steps.length * msOfAStep };
  await workOffOperations({ db: counted, log, time });
  return steps;
}

it('makes as many steps as ten, or half a second, allow, and at least one', async () => {
  await pool.query(`insert into millrace.dead_letters (job_type, routing_key, last_error)
    select 'mail', '', 'no' from generate_series(1, 300000)`);
  await startRedrive(db, { error: 'yes' });

  const slow = await round(8000);
  const middling = await round(200);
  const quick = await round(10);

  expect([slow.length, middling.length, quick.length]).toEqual([1, 3, 10]);
});

it('gives each of several slow redrives its turn', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) ids.push(await startRedrive(db, {}, { rate: 0.001 }));

  const rounds = [await round(8000), await round(8000), await round(8000), await round(8000)];

  expect(rounds).toEqual([[ids[0]], [ids[1]], [ids[2]], [ids[0]]]);
});

it('advances at most twenty redrives in a round, and all of them in turn', async () => {
  for (let n = 0; n < 50; n += 1) await startRedrive(db, {}, { rate: 0.001 });

  const rounds = [await round(1), await round(1), await round(1)];

  expect(rounds.map((ids) => ids.length)).toEqual([20, 20, 20]);
  expect(new Set(rounds.flat()).size).toBe(50);
});

it('gives a redrive its turn that made its last step before the clock was set back', async () => {
  const id = await startRedrive(db, {}, { rate: 0.001 });
  await pool.query(`update millrace.operations set updated_at = millrace.clock() + interval '1 hour'`);
  for (let n = 0; n < 30; n += 1) await startRedrive(db, {}, { rate: 0.001 });

  const rounds = [await round(1), await round(1)];

  expect(rounds[0]).toContain(id);
  expect(new Set(rounds.flat()).size).toBe(31);
});

it('gives a redrive its turn while the steps of others fail', async () => {
  await pool.query(`insert into millrace.operations (kind, filter)
    select 'redrive', '{"job_types": "not an array", "until_id": 1000000000}' from generate_series(1, 30)`);
  const id = await startRedrive(db, {}, { limit: 50 });

  await round(1);
  await round(1);

  expect(log.events('redrive_done')).toMatchObject([{ redrive_id: id, jobs: 50 }]);
  expect((await running()).length).toBe(30);
});
