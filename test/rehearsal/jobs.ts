import { expect } from 'vitest';
import { createApiKey } from '../../core/access/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import type { Deployment } from './deployment.ts';

/** The schedule invokes the dispatcher once a minute. */
const PATIENCE = { timeout: 200_000, interval: 500 };

interface Job {
  readonly status: string;
  readonly attempts: number;
  readonly result: unknown;
  readonly last_error: string | null;
  readonly next_retry_at: Date | null;
}

export async function insertJob(deployment: Deployment, jobType: string, payload: object): Promise<string> {
  return insertJobs(deployment, jobType, payload, 1);
}

/** Inserts jobs as an application does; returns the lowest id. */
export async function insertJobs(
  { query }: Deployment,
  jobType: string,
  payload: object,
  count: number,
): Promise<string> {
  const rows = await query<{ id: string }>(
    `with made as (
       insert into millrace.jobs (job_type, payload) select $1, $2 from generate_series(1, $3) returning id
     ) select min(id)::text as id from made`,
    [jobType, payload, count],
  );
  return rows[0]!.id;
}

export async function untilJob(deployment: Deployment, id: string, wanted: Partial<Job>): Promise<Job> {
  const text = 'select status, attempts, result, last_error, next_retry_at from millrace.jobs where id = $1';
  return eventually(async () => {
    const [job] = await deployment.query<Job & Record<string, unknown>>(text, [id]);
    expect(job, await latestLog(deployment)).toMatchObject(wanted);
    return job!;
  }, PATIENCE);
}

/** Waits until the query returns one row, and returns it. */
export async function untilRow(deployment: Deployment, text: string, values: readonly unknown[]): Promise<unknown> {
  return eventually(async () => {
    const rows = await deployment.query(text, values);
    expect(rows, await latestLog(deployment)).toHaveLength(1);
    return rows[0];
  }, PATIENCE);
}

/** Counts the attempts that ran at that time. */
export async function countInFlight({ query }: Deployment, at: Date): Promise<number> {
  const rows = await query(
    `with attempts as (select started_at, finished_at from millrace.jobs
       union all select started_at, finished_at from millrace.job_attempts)
     select from attempts where started_at < $1 and finished_at > $1`,
    [at],
  );
  return rows.length;
}

/** Returns the latest log lines of the functions. */
async function latestLog({ cloud }: Deployment): Promise<string> {
  return (await cloud.log()).slice(-5_000);
}

/** Enqueues a job with the API, which invokes the dispatcher at once; returns its id. */
export async function postJob(deployment: Deployment, jobType: string, payload: object): Promise<string> {
  return String((await (await openApi(deployment))('/jobs', { job_type: jobType, payload })).id);
}

/** Returns a function that posts to the deployed API with a new key. */
export async function openApi(deployment: Deployment) {
  const { secret } = await createApiKey(deployment.pool, {
    name: crypto.randomUUID(),
    scopes: ['operator', 'producer'],
  });
  return async (path: string, body: object): Promise<Record<string, unknown>> => {
    const response = await post(deployment, path, body, secret);
    const text = await response.text();
    expect(response.ok, text).toBe(true);
    return JSON.parse(text);
  };
}

/** Posts to the deployed API with a key or a token, or without one. */
export async function post(deployment: Deployment, path: string, body: object, secret?: string): Promise<Response> {
  const authorization = secret === undefined ? undefined : { authorization: `Bearer ${secret}` };
  const headers = { 'content-type': 'application/json', ...authorization };
  return fetch((await apiAddress(deployment)) + path, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Returns the address of the deployed API. Its path names the API, as its domain is AWS. */
export async function apiAddress({ cloud, outputs }: Deployment): Promise<string> {
  const { ApiUrl } = await outputs();
  const [id] = new URL(ApiUrl ?? '').hostname.split('.');
  return `${cloud.endpoint}/_aws/execute-api/${id}/$default`;
}
