import { exactJson, snakeCase } from '../screen/json.ts';
import type { SeenJob } from './backend.ts';

/** A job as `--json` has it: the columns' names, the payload digit for digit, its attempts newest first. */
export function jobDocument({ job, attempts, waiting }: SeenJob): Record<string, unknown> {
  return {
    ...snakeCase(job),
    payload: job.payload === undefined ? undefined : exactJson(job.payload),
    result: job.result === null ? null : exactJson(job.result),
    waiting,
    attempt_history: attempts.map(snakeCase),
    ...(job.payload === undefined && { payload_restricted: true }),
  };
}
