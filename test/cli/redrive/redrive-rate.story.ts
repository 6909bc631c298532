import { describe, expect, it, vi } from 'vitest';
import { backendByDatabase } from '../../../cli/backend/by-database.ts';
import { workOffRedrive } from '../../../cli/redrive/run-redrive.ts';
import { startRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { workOffOperations } from '../../../core/dispatch/work-off-operations.ts';
import { createClient } from '../../support/database.ts';
import { eventually as tryFor } from '../../support/eventually.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { stillTime } from '../../support/still-time.ts';
import { openDeadLetters } from '../commands/dead-letters.ts';
import { startCli } from '../start-cli.ts';

const { bury, pool, db, env } = await openDeadLetters();

const start = (...args: string[]) => startCli(['redrive', '--all', '--yes', '--json', ...args], { env });
const dispatch = () => workOffOperations({ db, log: recordLog(), time: stillTime() });

/** Retries for longer than usual, since a command starts slowly on a busy machine. */
function eventually<T>(assert: () => Promise<T>): Promise<T> {
  return tryFor(assert);
}

interface Operation {
  readonly id: string;
  readonly status: string;
  readonly done: number;
}

/** Waits until a redrive has moved this many jobs. */
function untilDone(done: number): Promise<Operation> {
  return eventually(async () => {
    const { rows } = await pool.query<Operation>(
      'select id::text, status, done_count::integer as done from millrace.operations',
    );
    expect(rows).toMatchObject([{ done }]);
    return rows[0]!;
  });
}

/** Locks rows in an open transaction. */
async function hold(sql: string) {
  const client = await createClient(pool.options.connectionString!);
  await client.query('begin');
  await client.query(sql);
  return client;
}

describe('redrive --rate', () => {
  it('prints progress with the end time to a pipe', async () => {
    await bury({ count: 10 });
    const id = await startRedrive(db, {}, { rate: 0.1 });
    const interrupted = new AbortController();
    const lines: string[] = [];
    const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      lines.push(String(text));
      if (lines.length === 2) interrupted.abort();
      return true;
    });

    await workOffRedrive({
      ...{ backend: backendByDatabase(db), id, rate: 0.1, progressMs: 0 },
      interrupted: interrupted.signal,
    });
    write.mockRestore();

    expect(lines[0]).toMatch(new RegExp(`^redrive ${id}: 0 of 10, 0 %, ends at about \\d\\d:\\d\\d:\\d\\dZ\\n$`));
  });

  it('leaves the jobs to the dispatcher while the command watches', async () => {
    await bury({ count: 30 });
    const { ended } = start('--rate', '10000/s');
    await untilDone(0);

    const moved = await eventually(async () => {
      await dispatch();
      return untilDone(30);
    });

    expect(moved.done).toBe(30);
    await eventually(async () => {
      await dispatch();
      expect((await pool.query('select status from millrace.operations')).rows).toEqual([{ status: 'done' }]);
    });
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'done', moved: 30, expected: 30, rate: 10_000 });
  });

  it('continues without the command', async () => {
    await bury({ count: 5 });
    const { process: child, ended } = start('--rate', '10000/s');
    await untilDone(0);

    child.kill('SIGKILL');
    await ended;

    await eventually(async () => {
      await dispatch();
      await untilDone(5);
    });
  });

  it('warns once when nothing moves', async () => {
    await bury();
    const said: string[] = [];
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
    const id = await startRedrive(db, {}, { rate: 1000 });
    const interruption = new AbortController();

    const work = workOffRedrive({
      backend: backendByDatabase(db),
      id,
      rate: 1000,
      interrupted: interruption.signal,
      stillnessMs: 1,
    });
    await eventually(async () => expect(said.join('')).toContain('is the dispatcher running?'));
    await eventually(async () => expect(said).toHaveLength(1));
    interruption.abort();
    const end = await work;
    vi.restoreAllMocks();

    expect(end).toMatchObject({ status: 'cancelled', done: 0 });
    expect(said).toHaveLength(1);
  });
});

describe('Ctrl-C', () => {
  it('cancels a redrive with a rate, and reports how many jobs were moved', async () => {
    await bury({ count: 5 });
    const { process: child, ended } = start('--rate', '0.01');
    await untilDone(0);

    child.kill('SIGINT');

    const { code, stdout, stderr } = await ended;
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 130, status: 'cancelled', moved: 0 });
    expect(stderr).toMatch(/redrive \d+ was cancelled: 0 of 5 moved; jobs already moved are not moved back/);
    expect(await untilDone(0)).toMatchObject({ status: 'cancelled' });
  });

  it('cancels a redrive in which the command moves the jobs', async () => {
    const [held] = await bury({ count: 3 });
    await hold(`select from millrace.jobs_live where id = ${held} for update`);
    const { process: child, ended } = start();
    await untilDone(2);

    child.kill('SIGINT');

    const { code, stdout } = await ended;
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 130, status: 'cancelled', moved: 2, expected: 3 });
  });

  it('ends the command at once the second time', async () => {
    await bury();
    const { process: child, ended } = start('--rate', '0.01');
    await untilDone(0);
    await hold('select from millrace.operations for update');
    child.kill('SIGINT');
    await eventually(async () => {
      const { rows } = await pool.query(
        `select from pg_stat_activity
           where datname = current_database() and application_name = 'millrace-cli' and wait_event_type = 'Lock'`,
      );
      expect(rows).toHaveLength(1);
    });

    // A signal within 250 ms counts as the same Ctrl-C, passed on by npm.
    await eventually(async () => {
      child.kill('SIGINT');
      expect(child.exitCode).toBe(130);
    });

    const stderr = 'stopping; press Ctrl-C again to exit at once\n';
    expect(await ended).toEqual({ code: 130, stdout: '', stderr });
  });

  it('exits with 130, but a redrive cancelled by another user exits with 5', async () => {
    await bury();
    const { ended } = start('--rate', '0.01');
    const { id } = await untilDone(0);

    await pool.query('select millrace.cancel_redrive($1)', [id]);

    const { code, stderr } = await ended;
    expect(code).toBe(5);
    expect(stderr).toContain('was cancelled by another user');
  });
});
