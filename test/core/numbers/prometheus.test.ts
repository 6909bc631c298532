import { expect, it } from 'vitest';
import { runOnce } from '../../../core/dispatch/dispatcher.ts';
import { foldEvents, foldTimings } from '../../../core/dispatch/fold-events.ts';
import { storeRounds } from '../../../core/dispatch/rounds.ts';
import { openLog } from '../../../core/log.ts';
import { countJobs } from '../../../core/numbers/count-jobs.ts';
import { PROMETHEUS_METRICS } from '../../../core/numbers/metric-table.ts';
import { renderMetrics } from '../../../core/numbers/prometheus.ts';
import { readStats } from '../../../core/numbers/stats.ts';
import { systemTime } from '../../../core/time.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine({ maxAttempts: 2 });
const build = { version: '1.2.3', node: 'v24.0.0' };

/** Maps `name{labels}` to the value. */
async function scrape(): Promise<Map<string, number>> {
  const text = await renderMetrics(engine.db, build);
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

async function liveThrough(): Promise<void> {
  const good = await engine.deliver(3);
  await engine.run(good.records);
  engine.work = () => {
    throw new Error('no');
  };
  const bad = await engine.deliver(2);
  await engine.run(bad.records);
  await engine.sql(`insert into millrace.jobs (job_type, run_at) values ('work', now() - interval '90 s')`);
}

it('counts the same events before and after the fold', async () => {
  await liveThrough();

  const before = await scrape();
  await foldEvents(engine.db);
  await foldTimings(engine.db);
  await foldEvents(engine.db);
  const after = await scrape();

  const events = (name: string, status: string) =>
    after.get(`millrace_job_events_total{event="${name}",job_type="work",status="${status}"}`);
  expect([events('enqueued', 'pending'), events('succeeded', 'succeeded')]).toEqual([6, 3]);
  expect([events('failed', 'failed'), events('retried', 'failed')]).toEqual([2, 2]);
  const steady = [...after].filter(([name]) => !name.includes('oldest_due') && !name.includes('build_info'));
  expect(steady.filter(([name, value]) => before.get(name) !== value)).toEqual([]);
});

it('names few of the job types without a handler, whatever producers write', async () => {
  await engine.sql(`insert into millrace.jobs (job_type) select 'order_' || n from generate_series(1, 3000) n`);
  await engine.sql(`insert into millrace.jobs (job_type) values ('work')`);

  const before = await scrape();
  await foldEvents(engine.db);
  await engine.sql(`insert into millrace.jobs (job_type) select 'invoice_' || n from generate_series(1, 3000) n`);
  const after = await scrape();

  const enqueued = (samples: Map<string, number>, jobType: string) =>
    samples.get(`millrace_job_events_total{event="enqueued",job_type="${jobType}",status="pending"}`);
  expect([enqueued(before, '_other'), enqueued(after, '_other'), enqueued(after, 'work')]).toEqual([3000, 6000, 1]);
  expect(after.get('millrace_jobs{status="pending",job_type="_other"}')).toBe(5900);
  expect(after.get('millrace_jobs{status="pending",job_type="work"}')).toBe(1);
  expect(after.has('millrace_oldest_due_job_age_seconds{job_type="_other"}')).toBe(true);
  expect(after.size).toBeLessThan(400);
  const [rows] = await engine.sql('select count(*)::int as n from millrace.job_event_totals');
  expect(rows).toEqual({ n: 2 });
});

it('reports wait times and durations in cumulative buckets', async () => {
  await liveThrough();

  const samples = await scrape();

  const run = (suffix: string, rest: string) =>
    samples.get(`millrace_job_duration_seconds_${suffix}{job_type="work",outcome="succeeded"${rest}}`);
  expect([run('bucket', ',le="900"'), run('bucket', ',le="+Inf"'), run('count', '')]).toEqual([3, 3, 3]);
  expect(samples.get('millrace_job_wait_seconds_count{job_type="work"}')).toBe(5);
  expect(run('sum', '')).toBeGreaterThan(0);
});

it('measures waits from the due time of a retry, not from the creation of the job', async () => {
  await liveThrough();
  await engine.advance(300);
  await foldTimings(engine.db);
  await engine.sql('delete from millrace.job_timing_totals');
  await engine.dispatch();
  await engine.run(engine.queues.receive('memory://work', 10));

  const samples = await scrape();

  // A minute after the first failure they were due; four minutes later they ran.
  expect(samples.get('millrace_job_wait_seconds_bucket{job_type="work",le="120"}')).toBe(0);
  expect(samples.get('millrace_job_wait_seconds_bucket{job_type="work",le="300"}')).toBe(2);
});

it('reports unfinished, late and dead jobs', async () => {
  await liveThrough();
  await engine.sql(`insert into millrace.dead_letters (job_type, routing_key) values ('work', '')`);

  const samples = await scrape();

  expect(samples.get('millrace_jobs{status="failed",job_type="work"}')).toBe(2);
  expect(samples.get('millrace_jobs{status="pending",job_type="work"}')).toBe(1);
  expect(samples.get('millrace_oldest_due_job_age_seconds{job_type="work"}')).toBeGreaterThanOrEqual(90);
  expect(samples.get('millrace_dlq_messages{queue="work-dlq",store="table"}')).toBe(1);
  expect(samples.get('millrace_handler_paused{handler="work"}')).toBe(0);
});

it('publishes exactly the metrics of the table, with their labels', async () => {
  await liveThrough();
  const sent = new Map([['work', 5]]);
  await storeRounds(engine.db, { seconds: [0.2, 4000], failed: 1, lost: 0, sent, errors: new Map([['refused', 2]]) });

  const text = await renderMetrics(engine.db, build);

  const found = new Map<string, string[]>();
  for (const [, name = '', , labels = ''] of text.matchAll(/^(\w+?)(_bucket|_sum|_count)?(?:\{(.*)\})? \S+$/gm)) {
    const names = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label!).filter((label) => label !== 'le');
    found.set(name, names);
  }
  found.delete('millrace_dispatcher_last_success_timestamp_seconds');
  const expected = Object.entries(PROMETHEUS_METRICS).filter(([name]) => !name.includes('timestamp'));
  expect(new Map([...found].sort())).toEqual(
    new Map(expected.map(([name, { labels }]) => [name, [...labels]] as const).sort()),
  );
});

it('adds up the rounds of all dispatchers', async () => {
  const before = await scrape();
  const sent = new Map([['work', 5]]);

  await storeRounds(engine.db, { seconds: [0.2, 0.02, 4000], failed: 1, lost: 0, sent, errors: new Map() });
  await storeRounds(engine.db, { seconds: [], failed: 1, lost: 0, sent, errors: new Map() });

  const after = await scrape();
  const grown = (name: string) => after.get(name)! - (before.get(name) ?? 0);
  expect(grown('millrace_dispatch_runs_total{result="ok"}')).toBe(3);
  expect(grown('millrace_dispatch_runs_total{result="failed"}')).toBe(2);
  expect(grown('millrace_dispatch_duration_seconds_bucket{le="0.05"}')).toBe(1);
  expect(grown('millrace_dispatch_duration_seconds_bucket{le="900"}')).toBe(2);
  expect(grown('millrace_dispatched_jobs_total{queue="work"}')).toBe(10);
});

it('escapes the values of labels', async () => {
  const text = await renderMetrics(engine.db, { version: 'a"b\\c\nd', node: '' });

  expect(text).toContain('version="a\\"b\\\\c\\nd"');
});

it('reads stored counts of many jobs, and counts few at once', async () => {
  await liveThrough();
  const few = await readStats(engine.db);
  await engine.sql(
    `insert into millrace.jobs_live (job_type, run_at) select 'work', now() from generate_series(1, 50001)`,
  );
  const uncounted = await readStats(engine.db);
  await countJobs(engine.db, null);

  const many = await readStats(engine.db);

  expect(few.jobs).toContainEqual({ status: 'pending', jobType: 'work', count: 1 });
  expect(uncounted).toMatchObject({ jobs: [], countedAt: null });
  expect(many.jobs).toContainEqual({ status: 'pending', jobType: 'work', count: 50_002 });
});

it('reports the throughput of the last minutes', async () => {
  await liveThrough();
  await foldEvents(engine.db);
  await engine.advance(600);
  await engine.enqueue();

  const { throughput, oldestDue } = await readStats(engine.db);

  expect(throughput).toContainEqual({ event: 'enqueued', last5Minutes: 1, lastHour: 7 });
  expect(throughput).toContainEqual({ event: 'succeeded', last5Minutes: 0, lastHour: 3 });
  expect(oldestDue).toMatchObject([{ jobType: 'work' }]);
});

it('counts the rounds of a dispatcher and its sent messages', async () => {
  const before = await scrape();
  await engine.enqueue();
  await engine.enqueue();
  engine.queues.fate = ({ id }) => (Number(id) % 2 === 0 ? 'sent' : 'refused');
  const { db, queues } = engine;
  const deps = { db, queues, log: openLog(() => undefined), time: systemTime, random: Math.random };

  await runOnce(deps);

  const after = await scrape();
  const grown = (name: string) => after.get(name)! - (before.get(name) ?? 0);
  expect(grown('millrace_dispatch_runs_total{result="ok"}')).toBe(1);
  expect(grown('millrace_dispatch_duration_seconds_count')).toBe(1);
  expect(grown('millrace_dispatched_jobs_total{queue="work"}')).toBe(1);
  expect(grown('millrace_dispatch_errors_total{reason="refused"}')).toBe(1);
});
