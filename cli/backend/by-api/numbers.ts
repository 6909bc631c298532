import type * as z from 'zod';
import { Redrive, StatsDocument } from '../../../api/documents/documents.ts';
import { SeriesDocument } from '../../../api/documents/number-documents.ts';
import { type Duration, seconds } from '../../../core/duration.ts';
import { FINISHED_STATUSES, LIVE_STATUSES } from '../../../core/job.ts';
import type { ReadSeries, SeriesWish } from '../../../core/numbers/series.ts';
import type { Stats } from '../../../core/numbers/stats.ts';
import { type Backend, MOST_REDRIVES } from '../backend.ts';
import type { Client } from './client.ts';
import { fromDocument } from './document.ts';
import { readPages } from './pages.ts';

export function numbersByApi(client: Client): Pick<Backend, 'readOverview' | 'readSeries'> {
  return {
    readOverview: async () => {
      const document = await readStats(client);
      const running = { path: '/admin/redrives', item: Redrive, query: { status: 'running' } };
      const redrives = await readPages(client, running, MOST_REDRIVES);
      const { handlers } = document;
      return { stats: toStats(document), handlers, redrives: redrives.map(fromDocument).toReversed() };
    },
    readSeries: (wish) => readSeries(client, wish),
  };
}

async function readSeries(client: Client, wish: SeriesWish): Promise<ReadSeries> {
  const timeText = async (at: SeriesWish['since']) => at && (await timeOf(client, at)).toISOString();
  const query = {
    ...{ since: await timeText(wish.since), until: await timeText(wish.until), step: wish.step },
    ...{ job_type: wish.jobTypes, by_job_type: wish.byJobType === undefined ? undefined : String(wish.byJobType) },
  };
  const { document } = await client.request('/admin/jobs/series', SeriesDocument, { query });
  return {
    asOf: new Date(document.as_of),
    step: document.step,
    times: document.times.map((time) => new Date(time)),
    series: document.series.map(({ job_type, ...numbers }) => ({ jobType: job_type, ...numbers })),
  };
}

export async function readStats(client: Client): Promise<z.output<typeof StatsDocument>> {
  return (await client.request('/admin/jobs/stats', StatsDocument)).document;
}

/** Returns a time unchanged, and for a duration the time that long ago by the database's clock. */
export async function timeOf(client: Client, since: Date | Duration): Promise<Date> {
  if (since instanceof Date) return since;
  const { as_of: now } = await readStats(client);
  return new Date(Date.parse(now) - seconds(since, 'since') * 1000);
}

export function toStats(document: z.output<typeof StatsDocument>): Stats {
  const { by_job_type: types, oldest_due: oldest, throughput, counted_at, dispatcher_last_round_at: round } = document;
  const { last_5_minutes: minutes, last_hour: hour } = throughput;
  const countsOf = (statuses: typeof LIVE_STATUSES | typeof FINISHED_STATUSES) =>
    Object.entries(types).flatMap(([jobType, counts]) =>
      statuses.map((status) => ({ jobType, status, count: counts[status] ?? 0 })),
    );
  return {
    asOf: new Date(document.as_of),
    countedAt: counted_at === null ? null : new Date(counted_at),
    jobs: countsOf(LIVE_STATUSES),
    finished: countsOf(FINISHED_STATUSES),
    oldestDue: Object.entries(oldest).map(([jobType, age]) => ({ jobType, seconds: age })),
    throughput: Object.entries(hour).map(([event, lastHour]) => {
      return { event, last5Minutes: minutes[event] ?? 0, lastHour };
    }),
    dispatcherLastRoundAt: round === null ? null : new Date(round),
  };
}
