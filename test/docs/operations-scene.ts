import {
  DeleteFunctionConcurrencyCommand,
  InvokeCommand,
  LambdaClient,
  PutFunctionConcurrencyCommand,
} from '@aws-sdk/client-lambda';
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { insertJob } from '../support/stack-doors.ts';
import type { Terminal } from './terminal.ts';

/** The values of the placeholders of the page. */
export type Stood = Readonly<Record<string, string>>;

/** Provokes a symptom; after its commands, checks that the symptom is gone or ends it. */
export interface Scene {
  provoke(terminal: Terminal): Promise<Stood>;
  relieve(terminal: Terminal, stood: Stood): Promise<void>;
}

export const PATIENCE = { interval: 100 };

const HOUR = `now() + interval '1 hour'`;
const REMINDER = { to: 'ada@example.com', subject: 'Hello', text: 'A reminder' };

export function remind({ stack }: Terminal, maxAttempts = 5): Promise<string> {
  return insertJob(stack, 'send_reminder', REMINDER, maxAttempts);
}

/** Enqueues a reminder that is due in an hour. */
export async function remindLater({ stack }: Terminal): Promise<string> {
  const [row] = await stack.query<{ id: string }>(
    `insert into millrace.jobs (job_type, payload, run_at) values ('send_reminder', $1, ${HOUR}) returning id::text`,
    [REMINDER],
  );
  return row?.id as string;
}

/** Returns the queues of a handler from the registry. */
export async function queuesOf({ stack }: Terminal, jobType: string): Promise<{ queue: string; dead: string }> {
  const text = 'select queue_url as queue, dead_letter_queue_url as dead from millrace.handlers where job_type = $1';
  const [queues] = await stack.query<{ queue: string; dead: string }>(text, [jobType]);
  if (queues === undefined) throw new Error(`${jobType} is not deployed`);
  return queues;
}

export async function until({ stack }: Terminal, id: string, status: string): Promise<void> {
  await eventually(async () => {
    const rows = await stack.query('select status from millrace.jobs where id = $1', [id]);
    expect(rows, stack.output()).toEqual([{ status }]);
  }, PATIENCE);
}

/** Cancels the jobs that a symptom left, so that the next one starts without them. */
export async function tidy({ stack, type }: Terminal): Promise<void> {
  await type('npx millrace mail start');
  await eventually(async () => {
    await stack.query('select millrace.cancel(id) from millrace.jobs_live');
    expect(await stack.query('select id, job_type, status from millrace.jobs_live'), stack.output()).toEqual([]);
  }, PATIENCE);
}

const DISPATCHER = 'millrace-local-dispatcher';

function openLambda({ stack }: Terminal): LambdaClient {
  const credentials = { accessKeyId: stack.state.lambdaAccessKeyId, secretAccessKey: 'local' };
  return new LambdaClient({ endpoint: stack.state.lambdaEndpoint, region: 'us-east-1', credentials });
}

/** Throttles the function of the dispatcher, ends its loop, and dates its last round three minutes back. */
export async function silenceDispatcher(terminal: Terminal): Promise<void> {
  const lambda = openLambda(terminal);
  await lambda.send(new PutFunctionConcurrencyCommand({ FunctionName: DISPATCHER, ReservedConcurrentExecutions: 0 }));
  lambda.destroy();
  await terminal.stack.query('update millrace.dispatcher_runs set run_no = run_no + 1');
  const age = `update millrace.dispatcher_runs set last_round_at = now() - interval '3 minutes'
    where last_round_at > now() - interval '2 minutes' returning run_no`;
  await eventually(async () => expect(await terminal.stack.query(age)).toEqual([]), {
    timeout: 60_000,
    interval: 3000,
  });
}

export async function wakeDispatcher(terminal: Terminal): Promise<void> {
  const lambda = openLambda(terminal);
  await lambda.send(new DeleteFunctionConcurrencyCommand({ FunctionName: DISPATCHER }));
  await lambda.send(new InvokeCommand({ FunctionName: DISPATCHER, InvocationType: 'Event' }));
  lambda.destroy();
}
