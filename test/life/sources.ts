/** Returns a handler file whose `run` has this body. `options` are further lines of its definition. */
export function handlerSource(jobType: string, body: string, options = ''): string {
  return `
import { z } from 'zod';
import { pbkdf2Sync } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { defineHandler } from '../../core/handler/handler.ts';

export default defineHandler({
  jobType: '${jobType}',
  payload: z.record(z.string(), z.unknown()),
  ${options}
  async run({ payload, jobId, signal }) {
    void wait, pbkdf2Sync, payload, jobId, signal;
    ${body}
  },
});
`;
}
