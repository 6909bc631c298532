import { beforeEach, expect, it } from 'vitest';
import { carry } from '../../../core/dead-letters/carriers.ts';
import { recordDead } from '../../../core/dead-letters/record-dead.ts';
import { maintain } from '../../../core/dispatch/maintain.ts';
import { promoteSchedules } from '../../../core/dispatch/promote-schedules.ts';
import { workOffOperations } from '../../../core/dispatch/work-off-operations.ts';
import { advanceJoins } from '../../../core/jobs/advance-joins.ts';
import { releaseUnconfirmed } from '../../../core/jobs/release.ts';
import { skipLate } from '../../../core/jobs/skip-late.ts';
import { openLog } from '../../../core/log.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import type { SqsRecord } from '../../../core/run/sqs-event.ts';
import { systemTime } from '../../../core/time.ts';
import { doUpkeep, upkeepSteps } from '../../../core/upkeep/upkeep.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

// Everything that SQL callers can do, each in a transaction that does not end, beside every step of the engine.
const engine = await openDatabaseEngine({ maxAttempts: 3 });

/** Jobs by name, in every state that a step or a caller changes. */
let jobs: Record<string, string>;
let records: SqsRecord[];

const HOUR = `interval '1 hour'`;
const PAST = `millrace.clock() - ${HOUR}`;
const FAR = `timestamptz '9999-12-31'`;
const CLAIMED = 'attempts, claim_no, max_attempts, status';
const RUNNING = `insert into millrace.jobs_live (job_type, request_id, started_at, lease_expires_at, ${CLAIMED})
  values ('work', 'lost', ${PAST}, ${PAST}, 1, 1, 5, 'running')`;
const DEAD = `insert into millrace.jobs_live (job_type, ${CLAIMED}) values ('work', 1, 1, 5, 'dead_letter')`;
const DISPATCHED = `insert into millrace.jobs_live (job_type, lease_expires_at, ${CLAIMED})`;
const WAITING = `insert into millrace.jobs_live (job_type, max_attempts, hold_until) values ('work', 5, ${FAR})`;
const PENDING = `insert into millrace.jobs (job_type) values ('work')`;
const INSERTS: Record<string, string> = {
  pending: PENDING,
  late: `insert into millrace.jobs (job_type, start_by) values ('work', ${PAST})`,
  failed: `insert into millrace.jobs_live (job_type, next_retry_at, ${CLAIMED})
    values ('work', ${PAST}, 1, 1, 5, 'failed')`,
  dead: DEAD,
  deadAsked: DEAD,
  running: RUNNING,
  runningAsked: RUNNING,
  lost: `${DISPATCHED} values ('work', ${PAST}, 1, 1, 5, 'dispatched')`,
  child: PENDING,
  sentChild: `${DISPATCHED} values ('work', millrace.clock() + ${HOUR}, 0, 1, 5, 'dispatched')`,
  waiting: WAITING,
  finishing: WAITING,
};

beforeEach(async () => {
  await engine.sql(`delete from millrace.schedules; delete from millrace.operations; delete from millrace.job_joins;
    delete from millrace.schedule_ticks; delete from millrace.unique_keys;
    update millrace.handlers set paused_at = null, held_until = null`);
  const delivered = await engine.deliver(4);
  records = delivered.records;
  jobs = { delivered: delivered.ids[0]!, deliveredAsked: delivered.ids[3]! };
  for (const [name, text] of Object.entries(INSERTS)) {
    const [row] = await engine.sql<{ id: string }>(`${text} returning id::text`);
    jobs[name] = row!.id;
  }
  const { child, sentChild, waiting, finishing, runningAsked, deadAsked, deliveredAsked } = jobs;
  await engine.sql(`
    insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key)
      select id, 1, 'work', '' from millrace.jobs_live where status = 'dead_letter';
    insert into millrace.job_joins (job_id, parent_id, children, past_dead, cancelled_at, cancelled_by)
      values (${waiting}, -1, array[${child}, ${sentChild}], false, millrace.clock(), 'ada'),
             (${finishing}, -2, '{}', false, null, null);
    insert into millrace.schedules (name, job_type, every_seconds, since, unique_key, overlap, queued_tick_at)
      values ('nightly', 'work', 3600, ${PAST} - ${HOUR}, 'key', 'queue-one', ${PAST});
    insert into millrace.cancel_requests (job_id) values (${runningAsked}), (${deadAsked}), (${deliveredAsked});
    insert into millrace.unique_keys (job_type, routing_key, unique_key, job_id, until, ends_at)
      values ('work', '', 'ended', 1, 'period', ${PAST}), ('work', '', 'gone', 1, 'finished', null);
    update millrace.dispatches set sent_at = null, claimed_at = ${PAST};
    select millrace.start_redrive('{"all": true}')`);
});

const REDRIVE = '(select max(id) from millrace.operations)';
const CALLS: Record<string, () => string> = {
  ...Object.fromEntries(
    ['delivered', 'deliveredAsked', ...Object.keys(INSERTS)].map((name) => [
      `cancels the job ${name}`,
      () => `select millrace.cancel(${jobs[name]})`,
    ]),
  ),
  'cancels a parent': () => 'select millrace.cancel(-2)',
  'makes a failed job due': () => `select millrace.retry(${jobs.failed})`,
  'redrives a dead job': () => `select millrace.retry(${jobs.dead})`,
  'discards all dead letters': () => 'delete from millrace.failed_jobs',
  'enqueues a key': () => `select millrace.enqueue('work', unique_key => 'key')`,
  'enqueues a key that has ended': () => `select millrace.enqueue('work', unique_key => 'ended')`,
  'enqueues a key that has ended, for a time': () =>
    `select millrace.enqueue('work', unique_key => 'ended', unique_for => ${HOUR})`,
  'enqueues the key of a finished job': () =>
    `select millrace.enqueue_many('[{"job_type": "work", "unique_key": "gone", "unique_until": "dispatched"}]')`,
  'changes all jobs': () => 'update millrace.jobs set priority = 1',
  'pauses the handler': () => `select millrace.pause('work')`,
  'creates a schedule': () => `select millrace.create_schedule('hourly', 'work', every => ${HOUR})`,
  'deletes a schedule': () => `select millrace.delete_schedule('nightly')`,
  'pauses a schedule': () => `select millrace.pause_schedule('nightly')`,
  'runs a schedule': () => `select millrace.run_schedule('nightly')`,
  'starts a redrive': () => `select millrace.start_redrive('{"all": true}')`,
  'moves jobs of a redrive': () => `select millrace.step_redrive(${REDRIVE}, 1)`,
  'cancels a redrive': () => `select millrace.cancel_redrive(${REDRIVE})`,
};

it.each(Object.entries(CALLS))('no step of the engine waits for a transaction that %s', async (_what, textOf) => {
  const lines: Record<string, unknown>[] = [];
  const log = openLog((line) => lines.push(JSON.parse(line)));
  const limits = { max: 1, name: 'engine-test', statementTimeoutMs: 5_000 };
  const db = openDatabase({ connectionString: engine.database.url, log, ...limits });
  const deps = { db, log, time: systemTime, queues: engine.queues };
  const application = await createClient(engine.database.url);
  await application.query(`begin; ${textOf()}`);

  await engine.rescue();
  await releaseUnconfirmed(db, 60);
  await workOffOperations(deps);
  await promoteSchedules({ ...deps, queued: { position: '' } });
  await advanceJoins(deps, { position: '0' });
  await skipLate(deps);
  await engine.run(records, { deps: { db, log }, remainingMs: () => 60_000 });
  await engine.dispatch();
  await maintain({ db, log, reported: new Set() });
  const found = [jobs.dead!, jobs.deadAsked!, jobs.lost!, jobs.running!].map((jobId) => ({
    ...{ messageId: jobId, sentAt: 1, jobId, claimNo: '1', epoch: engine.epoch, body: '{}' },
  }));
  await recordDead(db, { url: 'memory://work-dlq', name: 'work-dlq' }, found);
  await carry(deps, systemTime.now() + 1_000);
  await doUpkeep(deps, upkeepSteps(3600), systemTime.now() + 60_000);
  await application.query('rollback');
  await db.close();

  const errors = lines.filter(({ level }) => level === 'error').map(({ error }) => (error as Error).message);
  // A schedule whose unique key another transaction keeps is tried again, after a tenth of a second.
  expect(errors.filter((message) => message !== 'canceling statement due to lock timeout')).toEqual([]);
});
