import { afterAll, describe, expect, it } from 'vitest';
import { createLogin } from '../../support/runtime-engine.ts';
import { runCli } from '../run-cli.ts';
import { openDeadLetters } from './dead-letters.ts';

const { pool, test, bury } = await openDeadLetters();
const application = await createLogin(test, 'millrace_app');
afterAll(() => application.drop());

const run = (...args: string[]) => runCli(args, { env: { DATABASE_URL: application.url } });

async function insert(status = 'pending'): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into millrace.jobs (job_type) values ('mail') returning id::text`,
  );
  const id = rows[0]!.id;
  if (status === 'cancelled') await pool.query('select millrace.cancel($1)', [id]);
  return id;
}

describe('a login with only millrace_app', () => {
  it.each([[[]], [['--json']]])('enqueues and gets the id: %j', async (flags) => {
    const { code, stdout, stderr } = await run('enqueue', 'mail', ...flags);

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/\d/);
  });

  it.each([[[]], [['--json']]])('learns with enqueue --watch that the job was enqueued: %j', async (flags) => {
    const { code, stdout, stderr } = await run('enqueue', 'mail', '--watch', ...flags);

    const [id] = /\d+/.exec(stdout) ?? [];
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: `error: job ${id} was enqueued; following it requires the role millrace_operator\n`,
    });
    expect((await pool.query('select from millrace.jobs where id = $1', [id])).rowCount).toBe(1);
  });

  it('cancels one job and several', async () => {
    const [dead] = await bury();
    const [one, two] = [await insert(), await insert()];

    const answers = [await run('jobs', 'cancel', one), await run('jobs', 'cancel', two, dead!, '--yes')];

    expect(answers).toEqual([
      { code: 0, stdout: `${one}\tcancelled\n`, stderr: '' },
      { code: 0, stdout: `${two}\tcancelled\n${dead}\tcancelled\n`, stderr: '' },
    ]);
  });

  it('gets every answer when only some jobs can be cancelled', async () => {
    const [waiting, ended] = [await insert(), await insert('cancelled')];

    const { code, stdout, stderr } = await run('jobs', 'cancel', waiting, ended, '999999', '--yes');

    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: `${waiting}\tcancelled\n${ended}\tfinished\n999999\tnot_found\n`,
    });
    expect(stderr).toBe(`error: job ${ended} has already finished\nerror: job 999999 does not exist\n`);
  });

  it('creates and deletes a schedule', async () => {
    const created = await run('schedules', 'create', 'poll', 'mail', '--every', '15m');
    const deleted = await run('schedules', 'delete', 'poll', '--yes');

    expect([created, deleted]).toEqual([
      { code: 0, stdout: 'poll\n', stderr: '' },
      { code: 0, stdout: '', stderr: 'deleted poll\n' },
    ]);
  });
});
