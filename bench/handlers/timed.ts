import { defineHandler } from '../../core/handler/handler.ts';

/** Returns when it started, with default options. */
export default defineHandler({
  jobType: 'timed',
  payload: { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } },
  run: async () => ({ startedAt: Date.now() }),
});
