import { defineHandler } from '../../core/handler/handler.ts';

/** Does nothing, tuned for throughput: full batches, and enough jobs in flight that a round never waits. */
export default defineHandler({
  jobType: 'no_op_wide',
  payload: { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } },
  concurrency: 4,
  batch: { size: 100, window: '1s' },
  maxInFlight: 10_000,
  run: async () => undefined,
});
