import { type Database, errorCode } from '../core/database.ts';
import { cancel } from '../core/jobs/cancel.ts';
import { readNamedJobs } from '../core/jobs/dead-letters-preview.ts';
import { showDeadLetter } from '../core/jobs/dead-letters-show.ts';
import { deleteJob } from '../core/jobs/delete-job.ts';
import { insertJob } from '../core/jobs/enqueue.ts';
import { listJobs } from '../core/jobs/list.ts';
import { readHandlerNumbers } from '../core/jobs/read-metrics.ts';
import { runningRedrives } from '../core/jobs/redrive-operation.ts';
import { retry } from '../core/jobs/retry.ts';
import { showJob } from '../core/jobs/show.ts';
import { readStats } from '../core/jobs/stats.ts';
import type { Engine } from './engine.ts';

/** An application's login may enqueue and not look. */
const MAY_NOT_LOOK = '42501';

/** The engine, asked by SQL. */
export function engineByDatabase(db: Database): Engine {
  return {
    readOverview: async () => ({
      stats: await readStats(db),
      handlers: await readHandlerNumbers(db),
      redrives: await runningRedrives(db),
    }),
    listJobs: (filter) => listJobs(db, filter),
    showJob: (id) => showJob(db, id),
    readNamedJobs: (ids) => readNamedJobs(db, ids),
    enqueue: (job) => insertJob({ query: (text, values) => db.query(text, values) }, job),
    isHandled: async (id) => {
      const shown = await showJob(db, id).catch((error: unknown) => {
        if (errorCode(error) === MAY_NOT_LOOK) return undefined;
        throw error;
      });
      return shown?.handled;
    },
    retry: (id) => retry(db, id),
    cancel: (id) => cancel(db, id),
    deleteJob: (id) => deleteJob(db, id),
    showDeadLetter: (wanted) => showDeadLetter(db, wanted),
  };
}
