import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { dispatch } from '../../../core/dispatch/dispatch.ts';
import { cancel } from '../../../core/jobs/cancel.ts';
import { claim } from '../../../core/jobs/claim.ts';
import { redrive } from '../../../core/jobs/redrive.ts';
import { releaseUnconfirmed } from '../../../core/jobs/release.ts';
import { settle } from '../../../core/jobs/settle.ts';
import { deploy, insertJobs, markRunning, memoryQueues, openEngine, shiftClock } from '../../support/runtime-engine.ts';

const engine = await openEngine({ connections: 1 });
const { pool, db, log } = engine;
await deploy(db, { jobType: 'mail' });
await pool.query(`create function public.fail() returns trigger language plpgsql as
  $$ begin raise exception 'the disk is on fire' using errcode = '58030'; end $$`);
afterAll(() => engine.close());

const run = () => dispatch({ db, queues: memoryQueues(), log, random: () => 1 }, 1000);
const error = { name: 'Error', message: 'boom', stack: null, fingerprint: 'f' };

/** Brings a job into the state that the verb requires, and returns the verb. */
const VERBS: Record<string, { tables: string[]; arrange: () => Promise<() => Promise<unknown>> }> = {
  claim: {
    tables: ['dispatches', 'jobs_live'],
    arrange: async () => run,
  },
  settle: {
    tables: ['jobs_live', 'job_attempts', 'dead_letters', 'job_events'],
    arrange: async () => {
      const [job] = await claim(db, 1);
      await markRunning(pool, [job!.id]);
      return () =>
        settle(db, [{ jobId: job!.id, claimNo: job!.claimNo, outcome: { kind: 'dead_letter', error } }], {
          requestId: null,
        });
    },
  },
  release: {
    tables: ['jobs_live', 'dispatches'],
    arrange: async () => {
      await claim(db, 1);
      await shiftClock(pool, 61);
      return () => releaseUnconfirmed(db, 60);
    },
  },
  redrive: {
    tables: ['jobs_live', 'job_attempts', 'audit_log', 'job_events'],
    arrange: async () => {
      const [job] = await claim(db, 1);
      await pool.query(`update millrace.jobs_live set status = 'dead_letter', lease_expires_at = null`);
      return () => redrive(db, [{ jobId: job!.id, claimNo: job!.claimNo }], 'x');
    },
  },
  cancel: {
    tables: ['jobs_live', 'jobs_finished', 'audit_log'],
    arrange: async () => {
      const { rows } = await pool.query('select id from millrace.jobs_live');
      return () => cancel(db, rows[0].id);
    },
  },
};
const CASES = Object.entries(VERBS).flatMap(([verb, { tables }]) => tables.map((table) => [verb, table] as const));

/** Statement triggers fire on the named table, and statements on finished jobs name the parent table. */
const failOn = (table: string) =>
  pool.query(
    `create trigger fail before insert or update or delete on millrace.${table} execute function public.fail()`,
  );
const mend = (table: string) => pool.query(`drop trigger if exists fail on millrace.${table}`);

afterEach(async () => {
  for (const table of new Set(CASES.map(([, name]) => name))) await mend(table);
  await shiftClock(pool, 0);
  await pool.query(
    'delete from millrace.jobs_live; delete from millrace.jobs_finished; delete from millrace.dispatches; delete from millrace.dead_letters',
  );
});

describe('PGC-03', () => {
  it.each(CASES)('a %s that fails at %s leaves no open transaction and no partial change', async (verb, table) => {
    await insertJobs(pool, 'mail', 1);
    const act = await VERBS[verb]!.arrange();
    const { rows: before } = await pool.query('select * from millrace.jobs_live');
    await failOn(table);

    // Settle returns rows without a change; the others throw.
    const outcome = await act().then(
      (settled) => settled,
      (failure: { code: string }) => failure.code,
    );

    await mend(table);
    const { rows: after } = await pool.query('select * from millrace.jobs_live');
    const { rows: sessions } = await pool.query(
      `select state from pg_stat_activity
         where datname = current_database() and application_name = 'test-engine' and state like 'idle in%'`,
    );
    expect(outcome).toEqual(verb === 'settle' ? [{ jobId: before[0].id, status: null }] : '58030');
    expect(after).toEqual(before);
    expect(sessions).toEqual([]);
    await db.command(`do $$ begin
      assert now() = statement_timestamp(), 'an open transaction';
      assert not exists (select from pg_settings where source = 'session'), 'a setting';
    end $$`);
    await expect(act()).resolves.toBeDefined();
  });
});
