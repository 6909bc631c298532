import { expect, it } from 'vitest';
import { openDeadLetters } from './dead-letters.ts';

const { pool, bury, run } = await openDeadLetters();
const enqueue = async (count: number, payload = '{}') => {
  await pool.query(
    `insert into millrace.jobs (job_type, payload, run_at)
       select 'mail', $2::jsonb, millrace.clock() + interval '1 hour' from generate_series(1, $1::int)`,
    [count, payload],
  );
};
const statuses = async () =>
  (await pool.query('select status, count(*)::int as jobs from millrace.jobs group by 1 order by 1')).rows.map(
    ({ status, jobs }) => `${jobs} ${status}`,
  );

it('jobs cancel with a filter counts in a dry run, and cancels what matches', async () => {
  await enqueue(3, '{"customer": {"id": 42}}');
  await enqueue(2);
  const filter = ['jobs', 'cancel', '--payload', 'customer.id=42'];

  const preview = await run(...filter, '--dry-run');
  const unconfirmed = await run(...filter);
  const before = await statuses();
  const done = await run(...filter, '--yes', '--reason', 'wrong customer');

  expect(preview).toMatchObject({ code: 0, stdout: 'pending\tmail\t\t3\n' });
  expect(preview.stderr).toContain('3 jobs would be changed');
  expect(unconfirmed).toMatchObject({ code: 6, stderr: expect.stringContaining('Cancel 3 jobs?') });
  expect(before).toEqual(['5 pending']);
  expect(done.stdout).toMatch(/^operation\t\d+\nkind\tcancel\nstatus\tdone\nchanged\t3 of 3\n/);
  expect(done.stdout).toContain("\nfilter\t--payload 'customer.id=42'\n");
  expect(done.stdout).toContain('\nreason\twrong customer\n');
  expect(await statuses()).toEqual(['3 cancelled', '2 pending']);
});

it('jobs reschedule makes jobs due, and operations lists what was done', async () => {
  await enqueue(2);

  const done = await run('jobs', 'reschedule', '--job-type', 'mail', '--now', '--priority', '2', '--yes', '--json');
  const list = JSON.parse((await run('operations', '--json')).stdout);
  const plain = await run('operations');

  expect(JSON.parse(done.stdout)).toMatchObject({
    kind: 'reschedule',
    done: 2,
    change: { run_at: 'now', priority: 2 },
  });
  expect(list.items).toEqual([JSON.parse(done.stdout)]);
  expect(plain.stdout).toMatch(/^\d+\treschedule\tdone\t2\t2\t-\t/);
  const { rows } = await pool.query('select distinct priority, due_at <= millrace.clock() as due from millrace.jobs');
  expect(rows).toEqual([{ priority: 2, due: true }]);
});

it('jobs retry with a filter redrives dead jobs, and says what it left', async () => {
  await bury({ count: 2 });
  await bury({ jobType: 'gone' });

  const done = await run('jobs', 'retry', '--status', 'dead_letter', '--yes');

  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('\nchanged\t2 of 3\nleft\t1 no handler\n') });
  expect(done.stderr).toContain('not changed: 1 no handler');
});

it('operations pause, resume and cancel a redrive, too', async () => {
  await bury();
  const { rows } = await pool.query(`select millrace.start_redrive('{"all": true}', 0.001)::text as id`);
  const id = rows[0].id;

  const answers = [];
  for (const verb of ['resume', 'pause', 'resume', 'cancel', 'cancel']) answers.push(await run('operations', verb, id));
  const unknown = await run('operations', 'show', '999999');

  expect(answers.map(({ code, stdout }) => [code, /status\t(\w+)/.exec(stdout)?.[1]])).toEqual([
    ...[
      [5, undefined],
      [0, 'paused'],
      [0, 'running'],
      [0, 'cancelled'],
      [5, undefined],
    ],
  ]);
  expect(unknown).toMatchObject({ code: 3, stderr: expect.stringContaining('operation 999999 does not exist') });
});

it.each([
  [['cancel'], 'name ids, or specify which jobs'],
  [['cancel', '1', '--status', 'failed'], 'name ids or use a filter, not both'],
  [['cancel', '--all', '--status', 'failed'], '--all selects every job'],
  [['cancel', '--payload', 'x', '--yes'], 'a condition such as customer.id=42'],
  [['retry', '--status', 'pending', '--yes'], 'statuses that retry can change: failed, dead_letter'],
  [['reschedule', '--all', '--yes'], 'specify what to change: --now, --run-at or --priority'],
])('refuses what is unclear: jobs %j', async (args, message) => {
  const { code, stderr } = await run('jobs', ...args);

  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

it('jobs delete is refused for a login that may not delete, and a filter without a match exits with 3', async () => {
  await pool.query(`insert into millrace.jobs_finished (slot, job_type, status, finished_at, max_attempts)
    values (5, 'mail', 'succeeded', millrace.clock(), 5)`);

  const refused = await run('jobs', 'delete', '--status', 'succeeded', '--yes');
  const none = await run('jobs', 'cancel', '--error', 'nothing', '--yes');

  expect(refused.code).toBe(4);
  expect(none).toMatchObject({ code: 3, stderr: expect.stringContaining('no job that can be cancelled matches') });
});
