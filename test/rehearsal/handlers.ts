/** Answers its version; a job with `until` is dead until there is such a file. */
export function obedient(version: number): string {
  return handler(
    'obedient',
    `if (payload.until && !existsSync(payload.until)) throw new DeadLetter('nobody has come');
    await wait(payload.ms ?? 0, undefined, { signal });
    return { version: ${version} };`,
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
import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { defineHandler } from '../../core/handler.ts';
import { DeadLetter } from '../../core/outcome.ts';
import { retry } from '../../core/retry-policy.ts';

void existsSync, wait, DeadLetter, retry;

export default defineHandler({
  jobType: '${jobType}',
  payload: z.object({ until: z.string().optional(), ms: z.number().optional() }),
  concurrency: 4,
  ${options}
  async run({ payload, signal }) {
    void payload, signal;
    ${body}
  },
});
`;
}
