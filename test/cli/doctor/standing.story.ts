import { beforeEach, describe, expect, it } from 'vitest';
import { storeRounds } from '../../../core/dispatch/rounds.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { runCli } from '../run-cli.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const run = (...args: string[]) => runCli(args, { env: { DATABASE_URL: engine.database.url } });
const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout);

/** Restores a healthy state: a recent round of the dispatcher, and no paused or held handler. */
const allWell = () =>
  engine.sql(`update millrace.dispatcher_runs set last_round_at = millrace.clock();
    update millrace.handlers set paused_at = null, held_until = null, hold_reason = null`);
beforeEach(allWell);

async function bury(): Promise<string> {
  engine.work = () => {
    throw new Error('no');
  };
  const { ids, records } = await engine.deliver(1);
  await engine.run(records);
  engine.queues.purge();
  return ids[0]!;
}

describe('stats', () => {
  it('prints job counts, overdue jobs, dead letters and throughput', async () => {
    await bury();
    await engine.enqueue();
    await storeRounds(engine.db, { seconds: [], failed: 0, lost: 0, sent: new Map(), errors: new Map() });

    const document = await json('stats');
    const { code, stdout, stderr } = await run('stats');

    expect(document).toMatchObject({
      jobs: { pending: 1, dispatched: 0, running: 0, failed: 0, dead_letter: 1 },
      oldest_due: [{ job_type: 'work' }],
      handlers: [{ handler: 'work', paused: false, dead: 1 }],
      redrives: [],
    });
    expect(document.throughput).toContainEqual({ event: 'enqueued', last_5_minutes: 2, last_hour: 2 });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^dead_letter\t1$/m);
  });

  it('warns when the dispatcher is silent', async () => {
    await engine.sql(`update millrace.dispatcher_runs set last_round_at = millrace.clock() - interval '5 minutes'`);

    const { stderr } = await run('stats');

    expect(stderr).toContain('no dispatcher has run a round for two minutes');
  });
});

describe('handlers', () => {
  it('pauses and resumes a handler, and prints its state', async () => {
    const paused = await run('handlers', 'pause', 'work');
    await engine.enqueue();
    const claimed = await engine.dispatch();
    const resumed = await json('handlers', 'resume', 'work');
    const listed = await run('handlers');

    expect(paused.stdout).toMatch(/^work\tpaused since /);
    expect(claimed).toMatchObject({ claimed: 0 });
    expect(resumed.items).toMatchObject([{ job_type: 'work', paused_at: null }]);
    expect(listed.stdout).toMatch(/^work\topen\t0 of \d+\t1\t0\t0\t0\t30 s\t1\t/);
  });

  it.each([
    [['unknown'], 3, 'not deployed: unknown; see npx millrace handlers'],
    [['Work'], 2, 'Expected a handler such as send_reminder'],
    [[], 2, 'missing required argument'],
  ])('rejects a pause of %j', async (names, expected, sentence) => {
    const { code, stdout, stderr } = await run('handlers', 'pause', ...names);

    expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
    expect(stderr).toContain(sentence);
  });
});

describe('jobs delete', () => {
  it('deletes waiting and dead jobs, but none in flight', async () => {
    const dead = await bury();
    const waiting = await engine.enqueue();
    const { ids } = await engine.deliver(1);

    const { code, stdout, stderr } = await run('jobs', 'delete', dead, waiting, ids[0]!, '999999', '--yes');

    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^${dead}\tdeleted\n`));
    expect(stderr).toContain(`job 999999 does not exist`);
    expect(await engine.sql('select id::text from millrace.jobs where id = $1', [dead])).toEqual([]);
  });

  it('requires a confirmation', async () => {
    const id = await engine.enqueue();

    const { code } = await run('jobs', 'delete', id);

    expect(code).toBe(6);
    expect(await engine.state(id)).toMatchObject({ status: 'pending' });
  });
});

describe('jobs wait', () => {
  it('prints the status of the job when it ends', async () => {
    const dead = await bury();
    engine.work = () => undefined;
    const { ids, records } = await engine.deliver(1);
    const waiting = run('jobs', 'wait', ids[0]!, '--timeout', '30s');
    await engine.run(records);

    const ends = [await waiting, await run('jobs', 'wait', dead), await run('jobs', 'wait', '999999')];

    expect(ends.map(({ code, stdout }) => [code, stdout])).toEqual([
      [0, 'succeeded\n'],
      [1, 'dead_letter\n'],
      [3, ''],
    ]);
  });

  it('exits with 8 after the timeout', async () => {
    const id = await engine.enqueue();

    const { code, stdout } = await run('jobs', 'wait', id, '--timeout', '300ms');

    expect([code, stdout]).toEqual([8, 'pending\n']);
  });
});
