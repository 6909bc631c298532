import { createServer, type Server } from 'node:http';
import { openClient } from 'millrace';
import linear from '../jobs/fetch-and-cache.linear.ts';
import exponential from '../jobs/fetch-and-cache.ts';

interface Attempt {
  readonly attempt: number;
  readonly outcome: string;
  readonly error_message: string | null;
  readonly delay_seconds: number | null;
  readonly finished_at: string;
}

interface Job {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly result: unknown;
  readonly last_error: string | null;
  readonly attempt_history: readonly Attempt[];
}

/** The HTTP API of Millrace. On this machine any key is accepted. */
export interface Api {
  readonly url: string;
  readonly key: string;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** An app that enqueues a job and shows it. It has no access to the database. */
export function createApp(api: Api): Server {
  const client = openClient(api);
  const answer = async (method: string, url: URL): Promise<Answer> => {
    const [, id] = /^\/jobs\/(\d+)$/.exec(url.pathname) ?? [];
    if (method === 'GET' && id !== undefined) return show(api, id);
    if (method !== 'POST' || url.pathname !== '/tasks/fetch-joke') return { status: 404, body: { error: 'not found' } };
    const handler = url.searchParams.get('backoff') === 'linear' ? linear : exponential;
    return { status: 202, body: { id: (await client.enqueue(handler, {})).id } };
  };
  return createServer(async ({ method = '', url = '' }, response) => {
    const failed = (error: Error): Answer => ({ status: 502, body: { error: error.message } });
    const { status, body } = await answer(method, new URL(url, 'http://app')).catch(failed);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
}

/** Returns a job with its attempts and its deferrals, the oldest first. */
async function show({ url, key }: Api, id: string): Promise<Answer> {
  const response = await fetch(`${url}/admin/jobs/${id}`, { headers: { Authorization: `Bearer ${key}` } });
  if (!response.ok) return { status: response.status, body: { error: `no job ${id}` } };
  const { status, attempts, max_attempts, result, last_error, attempt_history } = (await response.json()) as Job;
  const deferrals = attempt_history
    .filter(({ delay_seconds }) => delay_seconds !== null)
    .map(({ attempt, error_message, delay_seconds, finished_at }) => {
      return { attempt, reason: error_message, delay_seconds, at: finished_at };
    });
  return {
    status: 200,
    body: { id, status, attempts, max_attempts, result, last_error, deferrals: deferrals.reverse() },
  };
}
