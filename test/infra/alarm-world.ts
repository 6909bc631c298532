import { afterAll } from 'vitest';
import type { SendVerdict } from '../../core/aws/queues.ts';
import { runDispatcher } from '../../core/dispatch/dispatcher.ts';
import type { MetricValues } from '../../core/numbers/emf.ts';
import { systemTime } from '../../core/time.ts';
import { doUpkeep } from '../../core/upkeep/upkeep.ts';
import { deploy, memoryQueues, openEngine, shiftClock } from '../support/runtime-engine.ts';

/** Timeouts of the ten handlers, in seconds. */
const TIMEOUTS = [1, 5, 10, 30, 60, 120, 300, 450, 600, 880];
const nameOf = (timeout: number) => `work_${timeout}`;
const HANDLERS = TIMEOUTS.map((timeout) => ({ jobType: nameOf(timeout), timeout, concurrency: 2, batch: { size: 1 } }));
const RARE = 'rare';
/** Jobs of a handler that run at once. */
const AT_ONCE = 2;

/** What is true in the world during a minute. */
export interface Truth {
  /** Jobs that each handler gets in this minute. */
  readonly enqueued?: number;
  readonly dispatcherRuns?: boolean;
  readonly databaseAnswers?: boolean;
  /** A handler whose mapping is disabled. */
  readonly unmapped?: string;
  /** A handler whose processes end without an outcome. */
  readonly crashing?: string;
  readonly verdict?: SendVerdict['kind'];
  /** Further events of a busy job type. */
  readonly events?: Readonly<Record<string, number>>;
  /** Failed attempts of a job type that has no other jobs. */
  readonly rareFailures?: number;
  /** What AWS or another part publishes in this minute. */
  readonly published?: Readonly<Record<string, number>>;
}

const engine = await openEngine({ connections: 4 });
const { pool } = engine;
afterAll(() => engine.close());

const RESET = `
  delete from millrace.jobs_live; delete from millrace.job_events; delete from millrace.job_numbers;
  delete from millrace.job_attempts; delete from millrace.dead_letters; delete from millrace.dispatches;
  update millrace.handlers set held_until = null, refusals = 0`;
// What the function of a handler does in a minute: it finishes the jobs whose time has passed, and starts others.
const FINISH = `
  with done as (
    delete from millrace.jobs_live where job_type = $1 and status = 'running'
      and started_at <= millrace.clock() - make_interval(secs => $2) returning id
  )
  insert into millrace.job_events (event, job_type, status, count)
    select 'succeeded', $1, 'succeeded', count(*) from done having count(*) > 0`;
const START = `
  with started as (
    update millrace.jobs_live set status = 'running', attempts = attempts + 1, started_at = millrace.clock(),
        lease_expires_at = millrace.clock() + make_interval(secs => $3)
      where id in (select id from millrace.jobs_live where job_type = $1 and status = 'dispatched'
                     order by id limit greatest(0, $2 - (select count(*) from millrace.jobs_live
                       where job_type = $1 and status = 'running')))
      returning claim_no
  )
  update millrace.handler_starts set claim_no = greatest(claim_no, (select max(claim_no) from started))
    where job_type = $1 and exists (select from started)`;

/** Lives some minutes with the real dispatcher and upkeep, and returns what they and AWS publish in each. */
export async function live(minutes: number, truthAt: (minute: number) => Truth) {
  await pool.query(RESET);
  await deploy(engine.db, ...HANDLERS, { jobType: RARE });
  const series = new Map<string, Map<number, number[]>>();
  for (let minute = 0; minute < minutes; minute++) {
    const truth = truthAt(minute);
    const put = (values: MetricValues | Readonly<Record<string, number>>) => {
      for (const [name, value] of Object.entries(values)) {
        const byMinute = series.get(name) ?? new Map<number, number[]>();
        series.set(name, byMinute.set(minute, [...(byMinute.get(minute) ?? []), value as number]));
      }
    };
    await shiftClock(pool, minute * 60);
    await work(truth);
    if (truth.databaseAnswers !== false) await runOurs(truth, put);
    put(truth.published ?? {});
  }
  return series;
}

async function work({ enqueued = 0, unmapped, crashing, events = {}, rareFailures = 0 }: Truth): Promise<void> {
  for (const { jobType, timeout } of HANDLERS) {
    if (enqueued > 0) {
      await pool.query('insert into millrace.jobs (job_type) select $1 from generate_series(1, $2)', [
        jobType,
        enqueued,
      ]);
    }
    // A job takes as long as it may. Several rounds of short jobs fit into a minute.
    for (let second = 0; second < 60; second += Math.max(timeout, 20)) {
      if (jobType !== crashing) await pool.query(FINISH, [jobType, second === 0 ? timeout : 0]);
      if (jobType === unmapped) break;
      await pool.query(START, [jobType, AT_ONCE * Math.max(1, Math.floor(20 / timeout)), timeout + 15]);
      if (timeout >= 60) break;
    }
  }
  const counted = Object.entries(events).map(([event, count]) => ({ event, count, jobType: nameOf(30) }));
  if (rareFailures > 0) counted.push({ event: 'failed', count: rareFailures, jobType: RARE });
  for (const { event, count, jobType } of counted) {
    await pool.query('insert into millrace.job_events values ($1, $2, $1, $3)', [event, jobType, count]);
  }
}

async function runOurs(
  { dispatcherRuns = true, verdict = 'sent' }: Truth,
  put: (values: MetricValues) => void,
): Promise<void> {
  const { db, log } = engine;
  const queues = Object.assign(memoryQueues(), { judge: () => verdict });
  const metrics = { put: (values: MetricValues) => put(values) };
  const deps = { db, log, time: systemTime, random: Math.random, metrics };
  if (dispatcherRuns) {
    await runDispatcher({ ...deps, queues }, { mode: 'tick', pollIntervalMs: 10, windowMs: 60_000 });
  }
  await doUpkeep(deps, [], Number.POSITIVE_INFINITY);
}
