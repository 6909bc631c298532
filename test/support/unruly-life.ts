import fc from 'fast-check';
import { expect } from 'vitest';
import { renderMetrics } from '../../core/numbers/prometheus.ts';
import type { Engine } from './database-engine.ts';
import { openUnruly } from './unruly-engine.ts';
import { OUTCOMES, type Step } from './unruly-steps.ts';

const pick = fc.nat(1000);
const dies = fc.option(fc.record({ at: fc.integer({ min: 1, max: 4 }), done: fc.boolean() }), { freq: 3 });
const fate = fc.oneof(
  { weight: 8, arbitrary: fc.constant('sent' as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('refused' as const, 'unknown' as const, 'late' as const, 'rejected' as const),
  },
);
const fates = fc.array(fate, { minLength: 1, maxLength: 6 });
const death = fc.constantFrom('never' as const, 'never' as const, 'before send' as const, 'after send' as const);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('enqueue'),
      count: fc.integer({ min: 1, max: 4 }),
      maxAttempts: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('dispatch'), fates, dies: death }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('receive'), most: fc.integer({ min: 1, max: 10 }), dies }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('deliver again'), pick, dies }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('copy'), pick }) },
  { weight: 9, arbitrary: fc.record({ do: fc.constant('end'), pick, outcome: fc.constantFrom(...OUTCOMES) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill'), pick }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advance'), seconds: fc.constantFrom(1, 61, 70, 400, 5_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('cancel', 'retry'), pick }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('rescue', 'maintain', 'show all', 'show all') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('console redrive', 'purge') }) },
) as fc.Arbitrary<Step>;

/** Between 10 and 60 steps in any order. */
export const STEPS = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' });

const ENDED = ['succeeded', 'skipped', 'cancelled'];
const READ_STATUSES = 'select j.id::text, j.status from millrace.jobs j order by j.id';
const READ_OPEN = "select job_id::text as id from millrace.dead_letters where status = 'open' order by job_id";

interface Standing {
  readonly id: string;
  readonly status: string;
}

/**
 * Expects that after any steps every job has ended or is dead, no ended job ran again, and the counters agree with the
 * tables. Returns the number of counted events.
 */
export async function checkLife(engine: Engine, steps: readonly Step[]): Promise<number> {
  await engine.clear();
  const unruly = openUnruly(engine);
  for (const one of steps) await unruly.take(one);
  await unruly.drain();
  const first = await engine.sql<Standing>(READ_STATUSES);
  // Runs that waited until now end. They may change dead jobs, but no ended job.
  await unruly.endAll();
  await unruly.drain();
  const last = await engine.sql<Standing>(READ_STATUSES);

  expect(first.map(({ id }) => id)).toEqual(unruly.ids);
  expect(first.filter(({ status }) => ![...ENDED, 'dead_letter'].includes(status))).toEqual([]);
  const ended = first.filter(({ status }) => ENDED.includes(status));
  expect(last).toEqual(expect.arrayContaining(ended));
  expect(last.filter(({ status }) => ![...ENDED, 'dead_letter'].includes(status))).toEqual([]);
  expect(unruly.wronglyRun).toEqual([]);
  const dead = last.filter(({ status }) => status === 'dead_letter').map(({ id }) => ({ id }));
  expect(await engine.sql(READ_OPEN)).toEqual(dead);
  return checkCounters(engine, last);
}

/** Compares `/metrics` with counts of the tables. */
async function checkCounters(engine: Engine, jobs: readonly Standing[]): Promise<number> {
  const text = await renderMetrics(engine.db, { version: '', node: '' });
  const sum = (pattern: RegExp) =>
    [...text.matchAll(pattern)].map(([, value]) => Number(value)).reduce((total, value) => total + value, 0);
  const events = (event: string, status = '\\w+') =>
    sum(
      new RegExp(`^millrace_job_events_total\\{event="${event}",job_type="work",status="${status}"\\} (\\d+)$`, 'gm'),
    );
  const [kept] = await engine.sql<Record<'dead' | 'redriven' | 'retried' | 'failed', number>>(`
    select count(*) filter (where outcome = 'dead_letter')::integer as dead,
           count(*) filter (where outcome in ('redriven', 'retried'))::integer as redriven,
           count(*) filter (where outcome = 'failed')::integer as failed from millrace.job_attempts`);

  expect(events('enqueued')).toBe(jobs.length);
  for (const ended of ENDED) expect(events(ended)).toBe(jobs.filter(({ status }) => status === ended).length);
  expect(events('failed')).toBe(events('retried') + events('dead_lettered') + events('failed', 'cancelled'));
  expect(events('retried')).toBe(kept!.failed);
  expect(events('dead_lettered')).toBe(kept!.dead);
  expect(events('manual_retry')).toBe(kept!.redriven);
  const live = jobs.filter(({ status }) => status === 'dead_letter').length;
  expect(sum(/^millrace_jobs\{status="\w+",job_type="work"\} (\d+)$/gm)).toBe(live);
  const succeeded = /^millrace_job_duration_seconds_count\{job_type="work",outcome="succeeded"\} (\d+)$/gm;
  expect(sum(succeeded)).toBe(events('succeeded'));
  return events('\\w+');
}
