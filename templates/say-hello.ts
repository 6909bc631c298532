import { defineHandler } from 'millrace';
import * as z from 'zod';

/** Runs once for each job `say_hello`. What it returns is stored; if it throws, the job is tried again later. */
export default defineHandler({
  jobType: 'say_hello',
  payload: z.object({ name: z.string() }),
  timeout: '30s',
  maxAttempts: 5,
  run: async ({ payload }) => ({ greeting: `Hello ${payload.name}` }),
});
