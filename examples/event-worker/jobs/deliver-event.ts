import { defineHandler, retry } from 'millrace';
import { event, postEvent } from '../src/post-event.ts';

/** Delivers an event. Its timeout is in the environment: MILLRACE_JOB_TIMEOUT. */
export default defineHandler({
  jobType: 'deliver_event',
  payload: event,
  maxAttempts: 5,
  // Five attempts use four of these delays: the fifth follows if a job has max_attempts 6.
  retry: retry.schedule(['1m', '5m', '30m', '2h', '12h']),
  run: ({ jobId, payload, signal }) => postEvent(jobId, payload, signal),
});
