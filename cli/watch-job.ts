import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../core/database.ts';
import type { JobStatus } from '../core/job.ts';
import { type ShownJob, showJob } from '../core/jobs/show.ts';
import { attemptLine } from './commands/jobs-show.ts';
import { say } from './terminal.ts';

const POLL_MS = 200;
const ENDED: readonly JobStatus[] = ['succeeded', 'skipped', 'cancelled', 'dead_letter'];

/** Tells each step of a job's life until it ends; answers how, or undefined when the job is gone. */
export async function watchJob(db: Database, id: string): Promise<ShownJob | undefined> {
  let status: JobStatus | undefined;
  let told = 0;
  for (;;) {
    const shown = await showJob(db, id);
    if (shown === undefined) return undefined;
    const { job, attempts } = shown;
    const fresh = attempts.slice(0, attempts.length - told).reverse();
    for (const attempt of fresh) say(`attempt ${attempt.attempt}/${job.maxAttempts} ${attemptLine(attempt)}`);
    told = attempts.length;
    if (job.status !== status) say(`${job.status}${job.status === 'succeeded' ? tookOf(shown) : ''}`);
    status = job.status;
    if (ENDED.includes(status)) return shown;
    await wait(POLL_MS);
  }
}

function tookOf({ job }: ShownJob): string {
  const { startedAt, finishedAt, attempts, maxAttempts } = job;
  const took = startedAt && finishedAt ? `, ${finishedAt.getTime() - startedAt.getTime()} ms` : '';
  return ` (attempt ${attempts}/${maxAttempts}${took})`;
}
