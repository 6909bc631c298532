import { defineHandler } from '../../core/handler/handler.ts';

/** Does nothing, with default options. */
export default defineHandler({
  jobType: 'no_op',
  payload: { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } },
  run: async () => undefined,
});
