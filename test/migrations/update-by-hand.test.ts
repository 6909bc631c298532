import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../support/database-engine.ts';

const ROOT = join(import.meta.dirname, '../..');
// The tests connect as a superuser.
const engine = await openDatabaseEngine();

it.each([
  ['the status', `update millrace.jobs set status = 'dead_letter'`],
  ['the attempts', 'update millrace.jobs set attempts = 0'],
  ['the lease', 'update millrace.jobs set lease_expires_at = now()'],
  ['the time of the next attempt', 'update millrace.jobs set next_retry_at = now(), priority = 1'],
  [
    'the claim, by a merge',
    'merge into millrace.jobs using (select 1) s on true when matched then update set claim_no = 7',
  ],
  ['the result', `update millrace.jobs set result = '1'`],
  ['the handler', `update millrace.jobs set job_type = 'other'`],
])('an update by hand of %s is refused, also for a superuser', async (_what, statement) => {
  const id = await engine.enqueue();

  const refused = engine.sql(statement);

  await expect(refused).rejects.toMatchObject({
    code: '55000',
    message: expect.stringContaining('changed by functions only'),
    hint: expect.stringContaining('select millrace.retry(id)'),
  });
  expect(await engine.state(id)).toMatchObject({ status: 'pending', attempts: 0 });
});

it.each([
  ['the table of all jobs', `update millrace.jobs set payload = '{"tampered": 1}'`],
  ['the table of finished jobs', 'update millrace.jobs_finished set priority = 1'],
  ['its leaf', 'update only millrace.jobs_finished_$slot set payload = null'],
])('an update by hand of a finished job through %s is refused', async (_what, statement) => {
  const id = await engine.enqueue();
  await engine.sql('select millrace.cancel($1)', [id]);
  const [before] = await engine.sql<{ slot: number }>('select * from millrace.jobs where id = $1', [id]);

  const refused = engine.sql(statement.replace('$slot', `${before?.slot}`.padStart(2, '0')));

  await expect(refused).rejects.toMatchObject({
    code: '55000',
    message: expect.stringContaining('changed by functions only'),
  });
  expect(await engine.sql('select * from millrace.jobs where id = $1', [id])).toEqual([before]);
});

it.each(['pending', 'dead_letter', 'succeeded'])('a delete by hand of a %s job is refused', async (status) => {
  const id = await engine.enqueue();
  await engine.sql('update millrace.jobs_live set status = $2 where id = $1 and $2 = $$dead_letter$$', [id, status]);
  if (status === 'succeeded') await engine.sql('select millrace.cancel($1)', [id]);

  const refused = engine.sql('delete from millrace.jobs where id = $1', [id]);

  await expect(refused).rejects.toMatchObject({
    code: '55000',
    hint: expect.stringContaining('npx millrace jobs delete'),
  });
});

it('a plain insert of many jobs is accepted, also in a session that has issued no id', async () => {
  await engine.sql(`insert into millrace.jobs (job_type) select 'work' from generate_series(1, 1000)`);

  const [row] = await engine.sql<{ count: string }>('select count(*) from millrace.jobs_live');

  expect(Number(row?.count)).toBeGreaterThanOrEqual(1000);
});

it('an update by hand of what a producer decides is accepted', async () => {
  const id = await engine.enqueue();

  await engine.sql(
    `update millrace.jobs set payload = '{"a":1}', priority = 1, run_at = now(), max_attempts = 2,
    unique_key = 'u', group_key = 'g' where id = $1`,
    [id],
  );

  expect(await engine.state(id)).toMatchObject({ status: 'pending', max_attempts: 2 });
});

it('the engine updates the table of live jobs, which has no such trigger', () => {
  const files = ['core', 'migrations', 'api', 'cli'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(ROOT, folder, file)),
  );
  const sources = files.filter((file) => /\.(ts|sql)$/.test(file)).map((file) => readFileSync(file, 'utf8'));

  const updates = sources.flatMap((source) => source.match(/\bupdate millrace\.jobs\w*/g) ?? []);

  expect(new Set(updates)).toEqual(new Set(['update millrace.jobs_live']));
});

// What docs/operations.md says about updates of the engine's own tables.
it('a job that an owner marks dead in jobs_live has no dead letter, and retry revives it', async () => {
  const id = await engine.enqueue();

  await engine.sql(`update millrace.jobs_live set status = 'dead_letter' where id = $1`, [id]);
  const letters = await engine.sql('select from millrace.dead_letters');
  const failed = await engine.sql('select from millrace.failed_jobs');
  const [answer] = await engine.sql('select millrace.retry($1) as retry', [id]);

  expect([letters, failed, answer]).toEqual([[], [], { retry: 'redriven' }]);
  expect(await engine.state(id)).toMatchObject({ status: 'pending' });
});

it('a running job that an owner makes pending in jobs_live runs again, and its outcome is not stored', async () => {
  const { ids, records } = await engine.deliver(1);
  engine.work = async ({ jobId }) => {
    await engine.sql(`update millrace.jobs_live set status = 'pending', lease_expires_at = null where id = $1`, [
      jobId,
    ]);
  };

  await engine.run(records);

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'pending' });
  expect(engine.lines.map(({ event }) => event)).toContain('outcome_not_ours');
});
