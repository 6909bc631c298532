import { defineHandler, retry } from 'millrace';
import { fetchJoke, order, TEMPORARY } from '../src/fetch-joke.ts';

/** Fetches a joke on request: five attempts, after 2, 4, 8 and 16 seconds. */
export default defineHandler({
  jobType: 'fetch_and_cache',
  payload: order,
  settings: { API_BASE_URL: 'required' },
  maxAttempts: 5,
  retry: retry.exponential({ base: '2s', factor: 2, max: '300s', jitter: 'none', retryOn: TEMPORARY }),
  run: fetchJoke,
});
