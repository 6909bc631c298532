import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { createLogin } from '../../support/runtime-engine.ts';
import { runCli } from '../run-cli.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const run = (...args: string[]) => runCli(args, { env: { DATABASE_URL: engine.database.url } });
const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout);

/** Restores a healthy state: a recent round of the dispatcher, and no paused or held handler. */
beforeEach(() =>
  engine.sql(`update millrace.dispatcher_runs set last_round_at = millrace.clock();
    update millrace.handlers set paused_at = null, held_until = null, hold_reason = null`),
);

describe('doctor', () => {
  it('passes on a healthy system', async () => {
    const { code, stdout } = await run('doctor');

    expect(stdout).not.toContain('FAIL');
    expect(code).toBe(0);
  });

  it.each([
    ['dispatcher', `update millrace.dispatcher_runs set last_round_at = millrace.clock() - interval '5 minutes'`],
    [
      'held handlers',
      `update millrace.handlers set held_until = millrace.clock() + interval '1 h', hold_reason = 'no queue'`,
    ],
    ['jobs without a handler', `insert into millrace.jobs (job_type) values ('typo_x')`],
    [
      'queues that the mirror does not sweep',
      `insert into millrace.dead_letter_queues (queue_url, swept_at)
         select dead_letter_queue_url, millrace.clock() - interval '1 h' from millrace.handlers`,
    ],
    [
      'rescue',
      `insert into millrace.jobs_live (job_type, status, claim_no, started_at, lease_expires_at)
         values ('work', 'running', 1, now(), millrace.clock() - interval '1 h')`,
    ],
    [
      'late jobs',
      `insert into millrace.jobs_live (job_type, priority, status, run_at)
         values ('work', 9, 'pending', millrace.clock() - interval '5 minutes')`,
    ],
  ])('reports %s, with details and what to do', async (check, text) => {
    await engine.sql(text);

    const { code, stdout } = await run('doctor');

    expect(code).toBe(8);
    expect(stdout).toMatch(new RegExp(`^FAIL\t${check}\t.+: .+`, 'm'));
    expect(stdout.match(/^FAIL/gm)).toHaveLength(1);
  });

  it.each([
    ['paused handlers', 'update millrace.handlers set paused_at = millrace.clock()'],
    ['dead letters', `insert into millrace.dead_letters (job_type, routing_key) values ('work', '')`],
    [
      'failed attempts',
      `insert into millrace.job_events (event, job_type, status, count)
         values ('failed', 'work', 'failed', 28985), ('succeeded', 'work', 'succeeded', 40)`,
    ],
  ])('warns of %s, which does not end a pipeline', async (check, text) => {
    await engine.sql(text);

    const { code, stdout } = await run('doctor');
    const { checks } = JSON.parse((await run('doctor', '--json')).stdout);

    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^WARN\t${check}\t.+: .+`, 'm'));
    expect(stdout).not.toContain('FAIL');
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toMatchObject([{ check, warning: true }]);
  });

  it('names the late handlers that are at their limit, and none that is paused', async () => {
    await engine.sql(`
      update millrace.handlers set max_in_flight = 1;
      insert into millrace.jobs_live (job_type, status, claim_no, dispatched_at, lease_expires_at)
        values ('work', 'dispatched', 1, now(), millrace.clock() + interval '1 h');
      insert into millrace.jobs_live (job_type, status, run_at)
        values ('work', 'pending', millrace.clock() - interval '988 seconds')`);

    const { stdout } = await run('doctor');
    await engine.sql('update millrace.handlers set paused_at = millrace.clock()');
    const paused = await run('doctor');

    expect(stdout).toMatch(
      /^FAIL\tlate jobs\twork: oldest due for 98\d s \(1 of 1 in flight, the maximum\): raise concurrency/m,
    );
    expect(paused.stdout).toMatch(/^OK\tlate jobs\tnone has been due for 120 s$/m);
  });

  it.each([
    ['dead_letters', 'dead letters'],
    ['dead_letter_queues', 'queues that the mirror does not sweep'],
    ['job_numbers', 'failed attempts'],
  ])('runs the other checks when the table %s cannot be read', async (table, check) => {
    const operator = await createLogin(engine.database, 'millrace_operator');
    onTestFinished(async () => void (await operator.drop()));
    await engine.sql(`revoke select on millrace.${table} from millrace_operator`);

    const { code, stdout } = await runCli(['doctor'], { env: { DATABASE_URL: operator.url } });
    await engine.sql(`grant select on millrace.${table} to millrace_operator`);

    expect(code).toBe(8);
    expect(stdout).toMatch(new RegExp(`^FAIL\t${check}\tnot checked: permission denied .*: use a login that`, 'm'));
    expect(stdout.match(/^FAIL/gm)).toHaveLength(1);
    expect(stdout.match(/^OK/gm)!.length).toBeGreaterThan(8);
  });

  it('reports that no handler is deployed', async () => {
    await registerHandlers({ db: engine.db, stage: 'local' }, []);

    const document = await json('doctor');
    const { definition } = engine;
    const address = { queueUrl: 'memory://work', deadLetterQueueUrl: 'memory://work-dlq', functionName: 'work' };
    await registerHandlers({ db: engine.db, stage: 'local' }, [{ definition, ...address }]);

    expect(document.checks).toContainEqual(expect.objectContaining({ check: 'handlers', ok: false }));
  });

  it('reports a missing schema', async () => {
    const { code, stdout } = await runCli(['doctor'], {
      env: { DATABASE_URL: engine.database.url.replace(/[^/]+$/, 'postgres') },
    });

    expect(code).toBe(8);
    expect(stdout).toMatch(/^FAIL\tschema\t.*pending.*npx millrace migrate/);
  });
});
