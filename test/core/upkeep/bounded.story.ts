import { afterAll, beforeAll, expect, it } from 'vitest';
import { closeGoneStrays, findMirroredQueues } from '../../../core/dead-letters/mirrored-queues.ts';
import { startRedrive, stepRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { carryMissing } from '../../../core/jobs/carry.ts';
import { dieUnhandled } from '../../../core/jobs/die-unhandled.ts';
import { readOldestDue } from '../../../core/numbers/stats.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { advance } from '../../../core/postgres/step.ts';
import { findAbandoned } from '../../../core/registry/abandoned.ts';
import { upkeepSteps } from '../../../core/upkeep/upkeep.ts';
import { openWatched, stopAutovacuum, type WatchedSession } from '../../support/plans.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
let session: WatchedSession;
beforeAll(async () => {
  await stopAutovacuum(pool);
  await deploy(db, { jobType: 'mail' });
  session = await openWatched({ url: engine.test.url });
});
afterAll(async () => {
  await session.close();
  await engine.close();
});

const ROWS = 25_000;

/** Adds dead jobs with letters and attempts, waiting jobs without a handler of as many types, and finished jobs. */
async function grow(rows: number): Promise<void> {
  const fill = [
    `with dead as (
       insert into millrace.jobs_live (job_type, status, claim_no, attempts, max_attempts)
         select 'mail', 'dead_letter', 1, 1, 1 from generate_series(1, $1::int) returning id)
     insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, queue_name, last_error, died_at,
         last_seen_at)
       select id, 1, 'mail', '', 'millrace-mail-dlq', 'no', now() - interval '99 days', now() from dead`,
    `insert into millrace.job_attempts (job_id, attempt, outcome, finished_at)
       select job_id, 1, 'failed', now() - interval '9 days' from millrace.dead_letters order by id desc limit $1::int`,
    `insert into millrace.jobs_live (job_type, max_attempts, run_at)
       select 'typo_' || n, 5, now() - interval '1 hour' from generate_series(1, $1::int) n`,
    `insert into millrace.jobs_finished (id, slot, job_type, status, max_attempts, finished_at)
       select nextval('millrace.job_ids'), millrace.slot_of(at), 'mail', 'succeeded', 1, at
         from generate_series(1, $1::int) n, lateral (select now() - make_interval(days => n % 25) as at) t`,
    `insert into millrace.dead_letters (queue_name, message_id, last_seen_at)
       select 'other-dlq', gen_random_uuid(), now() from generate_series(1, $1::int)`,
    `insert into millrace.audit_log (action) select 'retry' from generate_series(1, $1::int)`,
  ];
  for (const text of fill) await pool.query(text, [rows]);
  await pool.query(`insert into millrace.dead_letter_queues (queue_url) values ('http://127.0.0.1:1/0/other-dlq')
    on conflict do nothing`);
  await pool.query('vacuum analyze');
}

const step = (name: string) => {
  const found = upkeepSteps(7 * 86_400).find((one) => one.name === name);
  if (!found) throw new Error(`unknown step ${name}`);
  return (watched: Database) => advance(watched, found, found.run);
};
const STRAYS = { url: 'http://127.0.0.1:1/0/other-dlq', name: 'other-dlq', retentionSeconds: 14 * 86_400 };
const UNHANDLED = { afterSeconds: 86_400, addresses: 500, jobs: 1000 };
let redrive = '';

const PARTS: readonly [string, (watched: Database) => Promise<unknown>][] = [
  ['of the jobs without a handler', (watched) => watched.transaction((tx) => dieUnhandled(tx, null, UNHANDLED))],
  ['of the search for missing messages', (watched) => watched.transaction((tx) => carryMissing(tx, '0', 1000))],
  ['of a redrive that matches nothing', (watched) => stepRedrive(watched, redrive, 1000)],
  ['of the prune of finished jobs', step('prune_finished')],
  ['of the prune of attempts', step('prune_attempts')],
  ['of the prune of dead letters', step('prune_dead_letters')],
  ['of the prune of the audit log', step('prune_audit')],
  ['that closes strays', (watched) => closeGoneStrays(watched, STRAYS, () => false)],
  ['that finds the queues to sweep', (watched) => findMirroredQueues(watched, 900)],
  ['that finds removed handlers with unfinished jobs', (watched) => findAbandoned(watched, [])],
  ['that finds the oldest due job', readOldestDue],
];

/** Returns the pages that each part touches, each in its first part. */
async function measure(): Promise<number[]> {
  redrive = await startRedrive(db, { error: 'no such error' });
  const pages: number[] = [];
  for (const [, part] of PARTS) {
    await pool.query('delete from millrace.upkeep');
    pages.push((await session.costs(() => part(session.db))).pages);
  }
  return pages;
}

it('reads at most twice the pages in one part with three times as many rows', async () => {
  await grow(ROWS);
  const few = await measure();
  await grow(2 * ROWS);

  const many = await measure();

  const growths = PARTS.map(([name], n) => ({ name, few: few[n] ?? 0, many: many[n] ?? 0 }));
  expect(growths.filter((one) => one.few === 0)).toEqual([]);
  expect(growths.filter((one) => one.many > 2 * one.few + 50)).toEqual([]);
});
