import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { runCli } from '../run-cli.ts';
import { startCli } from '../start-cli.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const cli = (...args: string[]) => runCli(args, { env: { DATABASE_URL: database.url } });

/** Ends the newest job of a type, once it exists, and returns its id. */
async function endNewest(jobType: string, statement: string): Promise<string> {
  const id = await eventually(async () => {
    const { rows } = await database.pool.query('select id from millrace.jobs where job_type = $1', [jobType]);
    if (rows[0] === undefined) throw new Error('no job yet');
    return rows[0].id as string;
  });
  await database.pool.query(statement, [id]);
  return id;
}

it.each([
  ['skipped', 'select millrace.finish_late(array[$1::bigint])', 1],
  ['cancelled', `select millrace.finish_cancelled(array[$1::bigint], 'no longer wanted')`, 1],
  ['dead_letter', `select millrace.die(array[$1::bigint], array['Error'], array['broken'])`, 1],
  [
    'succeeded',
    `select millrace.finish(array[$1::bigint], null, array['succeeded'], array[null], null, null, null)`,
    0,
  ],
])('enqueue --watch and jobs wait end with the same code and reason for a job that is %s', async (status, ...rest) => {
  const [statement, code] = rest;
  const args = ['enqueue', status, '--watch', '--start-by', '5m'];
  const watching = startCli(args, { env: { DATABASE_URL: database.url } }).ended;
  const id = await endNewest(status, statement);

  const watched = await watching;
  const waited = await cli('jobs', 'wait', id);

  const { rows } = await database.pool.query('select status, last_error from millrace.jobs where id = $1', [id]);
  expect(rows[0].status).toBe(status);
  expect([watched.code, waited.code]).toEqual([code, code]);
  const reason = ['skipped', 'cancelled'].includes(status) ? `job ${id} was ${status}: ${rows[0].last_error}\n` : '';
  for (const { stderr } of [watched, waited]) expect(stderr).toContain(reason);
});

it('jobs wait states that the time is over, and after a success which jobs wait for the children', async () => {
  const { rows } = await database.pool.query(
    `insert into millrace.jobs (job_type) select 'family' from generate_series(1, 3) returning id`,
  );
  const [parent, first, second] = rows.map(({ id }) => id as string);
  const waiting = `insert into millrace.job_joins (job_id, parent_id, children, past_dead) values ($1, $2, '{}', false)`;
  const endJoin = 'update millrace.job_joins set ended_at = millrace.clock() where job_id = $1';
  for (const id of [first, second]) await database.pool.query(waiting, [id, parent]);

  const late = await cli('jobs', 'wait', parent!, '--timeout', '0s');
  await database.pool.query(
    `select millrace.finish(array[$1::bigint], null, array['succeeded'], array[null], null, null, null)`,
    [parent],
  );
  const both = await cli('jobs', 'wait', parent!);
  await database.pool.query(endJoin, [first]);
  const one = await cli('jobs', 'wait', parent!);
  await database.pool.query(endJoin, [second]);
  const none = await cli('jobs', 'wait', parent!);

  expect(late).toMatchObject({ code: 8, stderr: expect.stringContaining(`job ${parent} is still pending after 0s`) });
  const what = 'for the children that it enqueued';
  expect(both).toMatchObject({ code: 0, stderr: `2 jobs wait ${what}; the first is job ${first}\n` });
  expect(one).toMatchObject({ code: 0, stderr: `job ${second} waits ${what}\n` });
  expect(none).toMatchObject({ code: 0, stderr: '' });
});

it.each([
  ['enqueue', ['enqueue']],
  ['jobs wait', ['jobs', 'wait']],
])('the help of %s states the exit code of every ending', async (_name, args) => {
  const { stdout } = await cli(...args, '--help');

  const text = stdout.replaceAll(/\s+/g, ' ');
  expect(text).toMatch(/exit code 0 if (it|all) succeeded, 1 if (it|any) was skipped or cancelled, or is dead/);
});
