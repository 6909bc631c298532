import { defineHandler, retry } from 'millrace';
import { fetchJoke, order, TEMPORARY } from '../src/fetch-joke.ts';

/** Fetches a joke every two minutes: three attempts, two seconds apart, since the next tick follows soon. */
export default defineHandler({
  jobType: 'fetch_and_cache',
  routingKey: 'scheduled',
  payload: order,
  settings: { API_BASE_URL: 'required' },
  maxAttempts: 3,
  retry: retry.fixed('2s', { retryOn: TEMPORARY }),
  schedules: { 'fetch-joke': { every: '2m' } },
  run: fetchJoke,
});
