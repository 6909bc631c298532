import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openQueues, type Queues } from '../../core/aws/queues.ts';
import { dispatch } from '../../core/dispatch/dispatch.ts';
import { openLog } from '../../core/log.ts';
import { type Database, openDatabase } from '../../core/postgres/database.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { untilDone } from './story.ts';

const JOBS = 10_000;
const DISPATCHERS = 8;
const MAX_IN_FLIGHT = 50;
const SAMPLE_EVERY_MS = 10;

const HANDLER = `
import * as z from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';

export default defineHandler({
  jobType: 'count_me',
  payload: z.object({}),
  timeout: '5s',
  concurrency: 4,
  maxInFlight: ${MAX_IN_FLIGHT},
  run: async () => undefined,
});
`;

process.env.AWS_REGION = 'us-east-1';
process.env.AWS_ACCESS_KEY_ID = 'local';
process.env.AWS_SECRET_ACCESS_KEY = 'local';

const log = openLog(() => undefined);
let project: Project;
let stack: RunningStack;

beforeEach(async () => {
  project = await makeProject({ 'count-me.ts': HANDLER });
  stack = await startUp(project);
});

afterEach(async () => {
  await stack.stop();
  await project.remove();
});

it(`${DISPATCHERS} dispatchers send each of ${JOBS} jobs once, and never exceed the limit of the handler`, async () => {
  // The pause keeps the dispatcher of the stack from sending the jobs before the eight start.
  await stack.query('update millrace.handlers set paused_at = now()');
  await wait(2_000);
  await stack.query(`insert into millrace.jobs (job_type) select 'count_me' from generate_series(1, $1::integer)`, [
    JOBS,
  ]);
  await stack.query('update millrace.handlers set paused_at = null');
  const sent = new Map<string, number>();
  const over = new AbortController();

  const samples = sampleInFlight(over.signal);
  const dispatchers = Array.from({ length: DISPATCHERS }, () => dispatchUntil(over.signal, sent));
  const ends = await untilDone(stack, 240_000);
  over.abort();
  await Promise.all(dispatchers);
  const { most, count } = await samples;
  const [attempts] = await stack.query<{ most: number }>('select max(attempts) as most from millrace.jobs');

  console.log(`${count} samples, at most ${most} in flight; ${sent.size} of ${JOBS} jobs sent by the eight`);
  expect(ends).toEqual({ succeeded: JOBS });
  expect(attempts?.most).toBe(1);
  expect([...sent.values()].filter((times) => times > 1)).toEqual([]);
  expect(sent.size).toBeGreaterThan(JOBS / 2);
  expect(count).toBeGreaterThan(100);
  expect(most).toBeLessThanOrEqual(MAX_IN_FLIGHT);
});

async function dispatchUntil(signal: AbortSignal, sent: Map<string, number>): Promise<void> {
  process.env.AWS_ENDPOINT_URL_SQS = stack.state.sqsEndpoint;
  const db: Database = openDatabase({ connectionString: stack.state.databaseUrl, max: 1, name: 'eight', log });
  const queues = counting(openQueues(), sent);
  const deps = { db, queues, log, random: Math.random };
  while (!signal.aborted) {
    const { claimed } = await dispatch(deps, 1000);
    if (claimed === 0) await wait(5);
  }
  queues.close();
  await db.close();
}

/** Counts how often each job is sent. */
function counting(queues: Queues, sent: Map<string, number>): Queues {
  return {
    ...queues,
    send: (queueUrl, messages) => {
      for (const { id } of messages) sent.set(id, (sent.get(id) ?? 0) + 1);
      return queues.send(queueUrl, messages);
    },
  };
}

async function sampleInFlight(signal: AbortSignal): Promise<{ most: number; count: number }> {
  const client = new pg.Client({ connectionString: stack.state.databaseUrl });
  await client.connect();
  let most = 0;
  let count = 0;
  for (; !signal.aborted; count++) {
    const { rows } = await client.query<{ n: number }>(
      "select count(*)::integer as n from millrace.jobs_live where status in ('dispatched', 'running')",
    );
    most = Math.max(most, rows[0]?.n ?? 0);
    await wait(SAMPLE_EVERY_MS);
  }
  await client.end();
  return { most, count };
}
