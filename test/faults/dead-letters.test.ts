import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { handlerSource } from '../life/sources.ts';
import { eventually } from '../support/eventually.ts';
import { countDeadMessages, redriveBySqs } from '../support/move-tasks.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { mirrorNow, openSqs } from '../support/stack-doors.ts';

const JOBS = 5_000;
const RATE = 200;
/** Three kinds of error, each with its number of jobs. */
const KINDS = { 'the mail server is away': 3_000, 'the address has no domain': 1_500, 'the picture is not there': 500 };
/** Fails until the file exists, and then appends a line to it. */
const BODY = `
    const { appendFile, stat } = await import('node:fs/promises');
    await stat(payload.file).catch(() => { throw new Error(payload.error); });
    await appendFile(payload.file, jobId + '\\n');`;
const OPTIONS = 'maxAttempts: 1, concurrency: 4, batch: { size: 10 },';
const PATIENCE = { timeout: 500_000, interval: 500 };
const QUICK = { timeout: 60_000, interval: 50 };
const MILLRACE = resolve(import.meta.dirname, '../../cli/millrace.js');

let project: Project;
let stack: RunningStack;
let file: string;

beforeAll(async () => {
  project = await makeProject({ 'fragile.ts': handlerSource('fragile', BODY, OPTIONS) });
  file = join(project.folder, 'mended');
  stack = await startUp(project, ['--fast-retries']);
});

afterAll(() => project.remove());

it('5,000 jobs that die of three kinds of error are listed as three groups', async () => {
  for (const [error, jobs] of Object.entries(KINDS)) await enqueue(error, jobs);
  await untilAllDead();

  const groups = await millrace('dlq', 'groups');

  const { items, total } = groups as { items: { jobs: number; error: string }[]; total: number };
  expect(items.map(({ error, jobs }) => [error, jobs])).toEqual(Object.entries(KINDS));
  expect(total).toBe(JOBS);
});

it('an interrupted redrive at 200 per second moves no more jobs', async () => {
  const command = startMillrace('redrive', '--all', '--yes', '--rate', `${RATE}/s`);
  const ended = once(command, 'exit');
  await eventually(async () => expect((await lastRedrive()).done_count).toBeGreaterThan(3 * RATE), PATIENCE);

  command.kill('SIGINT');
  const [code] = await ended;
  const after = await lastRedrive();
  await untilAllDead();

  expect(code).toBe(130);
  expect(after.status).toBe('cancelled');
  expect(after.done_count).toBeLessThan(JOBS);
  expect(await lastRedrive()).toEqual(after);
  expect(await countLetters()).toEqual({ open: JOBS, redriven: after.done_count });
});

it('a redrive of all jobs at 200 per second is not faster', async () => {
  const { redriven: before } = await countLetters();

  const answer = await millrace('redrive', '--all', '--yes', '--rate', `${RATE}/s`);
  const { status, seconds } = await lastRedrive();
  await untilAllDead();

  expect(answer).toMatchObject({ status: 'done', moved: JOBS, expected: JOBS, left: 0, rate: RATE });
  expect(status).toBe('done');
  expect(seconds).toBeGreaterThanOrEqual(20);
  expect(await countLetters()).toEqual({ open: JOBS, redriven: before + JOBS });
});

it('move tasks of all messages and a redrive from the table at the same time run each job once', async () => {
  await writeFile(file, '', { mode: 0o666 });
  await peekAtTen();

  const [moved, ours] = await Promise.all([redriveBySqs(stack, 'fragile'), redriveInTheMiddle()]);
  await eventually(
    async () => expect(await countJobs(), stack.output().slice(-2000)).toEqual({ succeeded: JOBS }),
    PATIENCE,
  );
  await untilSweptClean();

  // The mirror may delete the message of a job that our redrive took before a task moves it.
  expect(moved).toBeGreaterThan(0);
  expect(moved + ours.moved).toBeGreaterThanOrEqual(JOBS);
  expect(ours.moved).toBeGreaterThan(0);
  expect(ours.moved).toBeLessThan(JOBS);
  const effects = (await readFile(file, 'utf8')).trim().split('\n');
  expect(effects).toHaveLength(JOBS);
  expect(new Set(effects).size).toBe(JOBS);
  expect(await stack.query('select from millrace.failed_jobs')).toEqual([]);
  expect((await countLetters()).open).toBe(0);
});

/** Waits until the mirror has deleted late messages: those of jobs that have changed state since may still arrive. */
async function untilSweptClean(): Promise<void> {
  await eventually(async () => {
    await mirrorNow(stack);
    expect(await countDeadMessages(stack, 'fragile')).toBe(0);
  }, PATIENCE);
}

/** Starts a redrive after the move task has redriven a tenth of the jobs. */
async function redriveInTheMiddle(): Promise<{ moved: number }> {
  await eventually(async () => expect((await countLetters()).open).toBeLessThan(0.9 * JOBS), QUICK);
  return (await millrace('redrive', '--all', '--yes')) as { moved: number };
}

/** Receives ten messages, as the console does when it shows messages: a move task leaves those. */
async function peekAtTen(): Promise<void> {
  const QueueUrl = stack.state.handlers.find(({ jobType }) => jobType === 'fragile')?.deadLetterQueueUrl;
  const client = openSqs(stack);
  const command = new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 10 });
  // The mirror may have received all of them.
  await eventually(async () => expect((await client.send(command)).Messages).toHaveLength(10), PATIENCE);
  client.destroy();
}

async function enqueue(error: string, jobs: number): Promise<void> {
  await stack.query(
    `insert into millrace.jobs (job_type, payload)
       select 'fragile', jsonb_build_object('error', $1::text, 'file', $2::text) from generate_series(1, $3::integer)`,
    [error, file, jobs],
  );
}

/** Waits until every job is dead and the dead-letter queue contains at least as many messages. */
async function untilAllDead(): Promise<void> {
  await eventually(async () => {
    expect(await countJobs(), stack.output().slice(-2000)).toEqual({ dead_letter: JOBS });
    expect(await countDeadMessages(stack, 'fragile')).toBeGreaterThanOrEqual(JOBS);
  }, PATIENCE);
}

async function countJobs(): Promise<Record<string, number>> {
  const rows = await stack.query<{ status: string; jobs: number }>(
    'select status, count(*)::integer as jobs from millrace.jobs group by status',
  );
  return Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]));
}

async function countLetters(): Promise<{ open: number; redriven: number }> {
  const [row] = await stack.query<{ open: number; redriven: number }>(
    `select count(*) filter (where status = 'open')::integer as open,
            count(*) filter (where status = 'redriven')::integer as redriven from millrace.dead_letters`,
  );
  return row as { open: number; redriven: number };
}

interface Redrive {
  readonly status: string;
  readonly done_count: number;
  readonly seconds: number;
}

async function lastRedrive(): Promise<Redrive> {
  const [row] = await stack.query<Redrive & Record<string, unknown>>(
    `select status, done_count::integer, extract(epoch from finished_at - created_at)::float8 as seconds
       from millrace.operations where kind = 'redrive' order by id desc limit 1`,
  );
  return row ?? { status: 'none', done_count: 0, seconds: 0 };
}

async function millrace(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await project.millrace(...args, '--json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

function startMillrace(...args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [MILLRACE, ...args], { cwd: project.folder, stdio: 'ignore' });
  project.processes.push(child);
  return child;
}
