import * as z from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';

export default defineHandler({
  jobType: 'echo',
  payload: z.object({ say: z.string() }),
  timeout: 10,
  run: async ({ payload }) => payload,
});
