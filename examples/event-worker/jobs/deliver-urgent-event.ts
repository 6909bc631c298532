import { defineHandler } from 'millrace';
import { event, postEvent } from '../src/post-event.ts';

/** Delivers an event that is useless if it is late. Its timeout is MILLRACE_JOB_TIMEOUT_deliver_urgent_event. */
export default defineHandler({
  jobType: 'deliver_urgent_event',
  payload: event,
  maxAttempts: 1,
  run: ({ jobId, payload, signal }) => postEvent(jobId, payload, signal),
});
