import { defineHandler, retry } from 'millrace';
import { fetchJoke, order, TEMPORARY } from '../src/fetch-joke.ts';

/** Fetches a joke on request: five attempts, after 2, 4, 6 and 8 seconds. */
export default defineHandler({
  jobType: 'fetch_and_cache',
  routingKey: 'linear',
  payload: order,
  settings: { API_BASE_URL: 'required' },
  maxAttempts: 5,
  retry: retry.linear({ base: '2s', step: '2s', max: '300s', retryOn: TEMPORARY }),
  run: fetchJoke,
});
