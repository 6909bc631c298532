import { listedDocument } from '../../core/dead-letters/list-dead-letters.ts';
import { exactJson, snakeCase } from '../screen/json.ts';
import type { SeenDeadLetter, SeenJob } from './backend.ts';

/** Returns a job as `--json` prints it: column names, the payload digit for digit, the attempts newest first. */
export function jobDocument({ job, attempts, moreAttempts, waiting }: SeenJob): Record<string, unknown> {
  return {
    ...snakeCase(job),
    payload: typeof job.payload === 'string' ? exactJson(job.payload) : job.payload,
    result: typeof job.result === 'string' ? exactJson(job.result) : job.result,
    waiting,
    attempt_history: attempts?.map(snakeCase),
    more_attempts: moreAttempts,
    ...(job.payload === undefined && { payload_restricted: true }),
    ...(job.payload === null && { payload_too_large: true }),
  };
}

/** Returns a dead letter as `--json` prints it, with the payload digit for digit. */
export function deadLetterDocument({ payload, rawBody, ...letter }: SeenDeadLetter): Record<string, unknown> {
  return {
    ...listedDocument(letter),
    payload: typeof payload === 'string' ? exactJson(payload) : payload,
    raw_body: rawBody,
    ...(payload === undefined && { payload_restricted: true }),
    ...(payload === null && letter.jobId !== null && { payload_too_large: true }),
  };
}
