import type { ShownJob } from '../core/jobs/show.ts';
import { rawJson, snakeCase } from './json.ts';

/** A job as `--json` has it: the columns' names, the payload digit for digit, its attempts newest first. */
export function jobDocument({ job, attempts, waiting }: ShownJob): Record<string, unknown> {
  return {
    ...snakeCase(job),
    payload: rawJson(job.payload),
    result: job.result === null ? null : rawJson(job.result),
    waiting,
    attempt_history: attempts.map(snakeCase),
  };
}
