import { defineHandler, retry } from 'millrace';
import * as z from 'zod';
import { database } from '../src/database.ts';

/**
 * Jobs that have been due for ten minutes: their handler is paused or missing, or the dispatcher does not run. Millrace
 * itself ends attempts whose process died.
 */
const STALLED = `
  select job_type, count(*)::int as count from millrace.jobs
    where status in ('pending', 'failed') and due_at < millrace.clock() - interval '10 minutes'
    group by job_type order by job_type`;

/** Reports stalled jobs every ten minutes. */
export default defineHandler({
  jobType: 'sweep_stalled',
  payload: z.object({}),
  maxAttempts: 3,
  retry: retry.fixed('5s'),
  schedules: { 'sweep-stalled': { every: '10m' } },
  async run({ log }) {
    const { rows } = await database().query<{ job_type: string; count: number }>(STALLED);
    for (const { job_type, count } of rows) log.warn('jobs_stalled', { stalled_type: job_type, count });
    return Object.fromEntries(rows.map(({ job_type, count }) => [job_type, count]));
  },
});
