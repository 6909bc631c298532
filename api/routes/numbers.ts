import { STATUSES } from '../../core/job.ts';
import { renderMetrics } from '../../core/numbers/prometheus.ts';
import { type HandlerNumbers, readHandlerNumbers } from '../../core/numbers/read-metrics.ts';
import { readStats, type Stats } from '../../core/numbers/stats.ts';
import { StatsDocument } from '../documents/documents.ts';
import { defineRoute } from '../route.ts';

export const getStats = defineRoute({
  method: 'get',
  path: '/admin/jobs/stats',
  operation: 'getStats',
  tag: 'Jobs',
  summary: 'Show job, event and handler counts',
  scope: ['jobs:read'],
  answers: { 200: { description: 'The numbers.', schema: StatsDocument } },
  run: async ({ db }) => ({ status: 200, body: statsDocument(await readStats(db), await readHandlerNumbers(db)) }),
});

function statsDocument(stats: Stats, handlers: readonly HandlerNumbers[]) {
  const { asOf, countedAt, oldestDue, throughput, dispatcherLastRoundAt } = stats;
  const jobs = [...stats.jobs, ...stats.finished];
  const types = Map.groupBy(jobs, ({ jobType }) => jobType);
  const seconds = oldestDue.map((one) => one.seconds);
  return {
    as_of: asOf,
    counted_at: countedAt,
    by_status: countByStatus(jobs),
    by_job_type: Object.fromEntries([...types].map(([jobType, some]) => [jobType, countByStatus(some)])),
    oldest_due_seconds: seconds.length === 0 ? null : Math.max(...seconds),
    oldest_due: Object.fromEntries(oldestDue.map((one) => [one.jobType, one.seconds])),
    throughput: {
      last_5_minutes: Object.fromEntries(throughput.map((one) => [one.event, one.last5Minutes])),
      last_hour: Object.fromEntries(throughput.map((one) => [one.event, one.lastHour])),
    },
    dispatcher_last_round_at: dispatcherLastRoundAt,
    handlers,
  };
}

function countByStatus(jobs: Stats['jobs']): Record<string, number> {
  const of = (wanted: string) =>
    jobs.filter(({ status }) => status === wanted).reduce((sum, { count }) => sum + count, 0);
  return Object.fromEntries(STATUSES.map((status) => [status, of(status)]));
}

export const getMetrics = defineRoute({
  method: 'get',
  path: '/metrics',
  operation: 'getMetrics',
  tag: 'Health',
  summary: 'Get the metrics for Prometheus',
  scope: ['metrics:read'],
  answers: { 200: { description: 'Metrics in text format 0.0.4.', mediaType: 'text/plain' } },
  run: async ({ db, deps }) => ({
    status: 200,
    text: await renderMetrics(db, { version: deps.version, node: process.versions.node }),
    headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' },
  }),
});
