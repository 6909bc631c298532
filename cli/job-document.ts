import type { SeenJob } from './engine.ts';
import { rawJson, snakeCase } from './json.ts';

/** A job as `--json` has it: the columns' names, the payload digit for digit, its attempts newest first. */
export function jobDocument({ job, attempts, waiting }: SeenJob): Record<string, unknown> {
  return {
    ...snakeCase(job),
    payload: job.payload === undefined ? undefined : rawJson(job.payload),
    result: job.result === null ? null : rawJson(job.result),
    waiting,
    attempt_history: attempts.map(snakeCase),
    ...(job.payload === undefined && { payload_restricted: true }),
  };
}
