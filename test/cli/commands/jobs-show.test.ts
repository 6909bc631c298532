import { expect, it } from 'vitest';
import { openDeadLetters } from './dead-letters.ts';

const { pool, run } = await openDeadLetters();

it('shows the request of each attempt, and names entries of the history that are not attempts', async () => {
  const { rows } = await pool.query<{ id: string }>(
    `insert into millrace.jobs (job_type) values ('show_history') returning id`,
  );
  const id = rows[0]!.id;
  await pool.query(
    `insert into millrace.job_attempts (job_id, attempt, outcome, error_name, error_message, request_id)
       values ($1, 1, 'failed', 'LeaseExpired', 'lease expired', 'r-1'), ($1, 2, 'snoozed', 'Snooze', 'later', 'r-2'),
              ($1, 2, 'lost', 'MessageLost', 'no start', null), ($1, 2, 'redriven', null, null, null)`,
    [id],
  );

  const { stdout } = await run('jobs', 'show', id);

  const history = stdout
    .split('\n')
    .filter((line) => /^(attempt|snooze|lost|redrive)\b/.test(line) && !/^attempts/.test(line));
  expect(history.map((line) => line.split('\t')[0])).toEqual(['redrive', 'lost message', 'snooze', 'attempt 1']);
  expect(history[2]).toMatch(/Snooze: later {3}request r-2$/);
  expect(history[3]).toMatch(/LeaseExpired: lease expired {3}request r-1$/);
});

it.each([
  [{ fraction: 0.405, text: 'page 8 of 20' }, '40 %   page 8 of 20   at 2026-03-01T10:00:00.000Z'],
  [{ fraction: null, text: 'page 8' }, 'page 8   at 2026-03-01T10:00:00.000Z'],
  [{ fraction: 1, text: null }, '100 %   at 2026-03-01T10:00:00.000Z'],
])('shows the progress %j of a job', async (progress, line) => {
  const { rows } = await pool.query<{ id: string }>(
    `insert into millrace.jobs_live (job_type, progress) values ('show_progress', $1) returning id`,
    [{ ...progress, at: '2026-03-01T10:00:00.000Z' }],
  );
  const id = rows[0]!.id;

  const { stdout } = await run('jobs', 'show', id);
  const json = JSON.parse((await run('jobs', 'show', id, '--json')).stdout);

  expect(stdout.split('\n')).toContain(`progress\t${line}`);
  expect(json.progress).toEqual({ ...progress, at: '2026-03-01T10:00:00.000Z' });
});
