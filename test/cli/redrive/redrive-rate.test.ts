import { describe, expect, it, vi } from 'vitest';
import { backendByDatabase } from '../../../cli/backend/by-database.ts';
import { workOffRedrive } from '../../../cli/redrive/run-redrive.ts';
import { startRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { workOffRedrives } from '../../../core/dispatch/work-off-redrives.ts';
import { createClient } from '../../support/database.ts';
import { eventually as tryFor } from '../../support/eventually.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { openDeadLetters } from '../commands/dead-letters.ts';
import { startCli } from '../run-cli.ts';

const { bury, pool, db, env } = await openDeadLetters();

const start = (...args: string[]) => startCli(['redrive', '--all', '--yes', '--json', ...args], { env });
const dispatch = () => workOffRedrives({ db, log: recordLog() });

/** A command takes long to start on a machine that is busy. */
function eventually<T>(assert: () => Promise<T>): Promise<T> {
  return tryFor(assert);
}

interface Operation {
  readonly id: string;
  readonly status: string;
  readonly done: number;
}

/** Waits until a redrive has begun and got so far. */
function untilDone(done: number): Promise<Operation> {
  return eventually(async () => {
    const { rows } = await pool.query<Operation>(
      'select id::text, status, done_count::integer as done from millrace.operations',
    );
    expect(rows).toMatchObject([{ done }]);
    return rows[0]!;
  });
}

/** Somebody's open transaction that holds a row. */
async function hold(sql: string) {
  const client = await createClient(pool.options.connectionString!);
  await client.query('begin');
  await client.query(sql);
  return client;
}

describe('redrive --rate', () => {
  it('is worked off by the dispatcher, while the command looks on', async () => {
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

  it('goes on without the command', async () => {
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
  it('cancels a redrive with a rate, and tells how many were moved', async () => {
    await bury({ count: 5 });
    const { process: child, ended } = start('--rate', '0.01');
    await untilDone(0);

    child.kill('SIGINT');

    const { code, stdout, stderr } = await ended;
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 130, status: 'cancelled', moved: 0 });
    expect(stderr).toMatch(/redrive \d+ is cancelled: 0 of 5 moved, and they stay moved/);
    expect(await untilDone(0)).toMatchObject({ status: 'cancelled' });
  });

  it('cancels a redrive that the command makes itself', async () => {
    const [held] = await bury({ count: 3 });
    await hold(`select from millrace.jobs_live where id = ${held} for update`);
    const { process: child, ended } = start();
    await untilDone(2);

    child.kill('SIGINT');

    const { code, stdout } = await ended;
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 130, status: 'cancelled', moved: 2, expected: 3 });
  });

  it('a second time ends the command at once', async () => {
    await bury();
    const { process: child, ended } = start('--rate', '0.01');
    await untilDone(0);
    await hold('select from millrace.operations for update');
    child.kill('SIGINT');
    await eventually(async () => {
      const { rows } = await pool.query(
        `select from pg_stat_activity where application_name = 'millrace-cli' and wait_event_type = 'Lock'`,
      );
      expect(rows).toHaveLength(1);
    });

    // What follows within a quarter of a second is the same Ctrl-C, passed on by npm.
    await eventually(async () => {
      child.kill('SIGINT');
      expect(child.exitCode).toBe(130);
    });

    expect(await ended).toEqual({ code: 130, stdout: '', stderr: '' });
  });

  it('is not what exit code 5 says: somebody else cancelled it', async () => {
    await bury();
    const { ended } = start('--rate', '0.01');
    const { id } = await untilDone(0);

    await pool.query('select millrace.cancel_redrive($1)', [id]);

    const { code, stderr } = await ended;
    expect(code).toBe(5);
    expect(stderr).toContain('is cancelled by somebody else');
  });
});
