/** Answers its version and notes what it did in the file `note`; a job with `until` is dead until there is such one. */
export function obedient(version: number): string {
  return handler(
    'obedient',
    `if (payload.until && !existsSync(payload.until)) throw new DeadLetter('nobody has come');
    await wait(payload.ms ?? 0, undefined, { signal });
    if (payload.note) appendFileSync(payload.note, jobId + '\\n');
    return { version: ${version} };`,
    // What is killed in the middle is soon found to be, and soon tried again.
    "timeout: '5s', retry: retry.schedule(['1s']),",
  );
}

/** Fails and asks for another try in an hour, unless there is a file as `until` says. */
export function unlucky(): string {
  return handler(
    'unlucky',
    "if (!payload.until || !existsSync(payload.until)) throw new Error('no luck today');",
    "retry: retry.schedule(['1h']),",
  );
}

function handler(jobType: string, body: string, options = ''): string {
  return `
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';
import { DeadLetter } from '../../core/handler/chosen-outcome.ts';
import { retry } from '../../core/handler/retry-policy.ts';

void appendFileSync, existsSync, wait, DeadLetter, retry;

export default defineHandler({
  jobType: '${jobType}',
  payload: z.object({ until: z.string().optional(), ms: z.number().optional(), note: z.string().optional() }),
  concurrency: 4,
  ${options}
  async run({ jobId, payload, signal }) {
    void jobId, payload, signal;
    ${body}
  },
});
`;
}
