import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { readMails } from '../../local/mailbox/mails.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningStack } from '../support/project.ts';

/** A handler whose effect is an email, and which runs long enough to be killed meanwhile. */
export const STORY_HANDLER = `
import { z } from 'zod';
import { setTimeout as wait } from 'node:timers/promises';
import { defineHandler } from '../../core/handler/handler.ts';
import { retry } from '../../core/handler/retry-policy.ts';
import { sendMail } from '../mail.ts';

export default defineHandler({
  jobType: 'story_mail',
  payload: z.object({ ms: z.number() }),
  timeout: '5s',
  maxAttempts: 15,
  concurrency: 4,
  maxInFlight: 120,
  retry: retry.fixed('1s'),
  async run({ payload, jobId, signal }) {
    await wait(payload.ms / 2, undefined, { signal });
    const mail = { to: 'story@example.com', subject: \`job \${jobId}\`, text: 'once' };
    await sendMail(mail, \`<job-\${jobId}@story>\`, signal);
    await wait(payload.ms / 2, undefined, { signal });
  },
});
`;

export async function enqueueStory(stack: RunningStack, jobs: number, ms: number): Promise<void> {
  await stack.query(
    `insert into millrace.jobs (job_type, payload) select 'story_mail', jsonb_build_object('ms', $2::integer)
       from generate_series(1, $1::integer)`,
    [jobs, ms],
  );
}

/** Waits until at least `least` jobs run; returns false when fewer are left. */
export async function whileRunning(stack: () => RunningStack, least: number): Promise<boolean> {
  return eventually(
    async () => {
      const [row] = await stack().query<{ running: number; open: number }>(
        `select count(*) filter (where status = 'running')::integer as running, count(*)::integer as open
           from millrace.jobs_live`,
      );
      if (row === undefined || (row.running < least && row.open >= least)) throw new Error(`only ${row?.running} run`);
      return row.running >= least;
    },
    { timeout: 90_000, interval: 100 },
  );
}

/** Invokes the dispatcher, so that the test does not wait a minute for the schedule after it killed one. */
export async function nudge(stack: RunningStack): Promise<void> {
  const client = new LambdaClient({
    endpoint: stack.state.lambdaEndpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: stack.state.lambdaAccessKeyId, secretAccessKey: 'local' },
  });
  await client.send(new InvokeCommand({ FunctionName: 'millrace-local-dispatcher', InvocationType: 'Event' }));
  client.destroy();
}

/** Waits until every job has ended or is dead, and returns the number of jobs by status. */
export async function untilDone(stack: RunningStack, timeout: number): Promise<Record<string, number>> {
  await eventually(
    async () => {
      const [row] = await stack.query<{ open: number }>(`select count(*)::integer as open from millrace.jobs_live
        where status <> 'dead_letter'`);
      if (row?.open !== 0) throw new Error(`${row?.open} jobs are still open`);
    },
    { timeout, interval: 500 },
  );
  const rows = await stack.query<{ status: string; jobs: number }>(
    'select status, count(*)::integer as jobs from millrace.jobs group by status',
  );
  return Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]));
}

export interface Effects {
  /** Number of jobs with at least one email. */
  readonly jobs: number;
  /** Jobs with more than one email, and how often the lease of each expired. */
  readonly doubled: readonly { readonly job: string; readonly mails: number; readonly rescues: number }[];
}

/** Counts the emails, which exist independently of Postgres. */
export async function readEffects(stack: RunningStack): Promise<Effects> {
  const mails = await readMails(stack.state.mailFolder);
  const byJob = Map.groupBy(mails, ({ subject }) => subject.replace('job ', ''));
  const rescues = await stack.query<{ job_id: string; rescues: number }>(
    `select job_id::text, count(*)::integer as rescues from millrace.job_attempts
       where error_name in ('LeaseExpired', 'ProcessEnded', 'OutOfMemory') group by job_id`,
  );
  const rescuesOf = new Map(rescues.map((row) => [row.job_id, row.rescues]));
  const doubled = [...byJob].filter(([, list]) => list.length > 1);
  return {
    jobs: byJob.size,
    doubled: doubled.map(([job, list]) => ({ job, mails: list.length, rescues: rescuesOf.get(job) ?? 0 })),
  };
}

/** Returns the ids of the descendants of `root` whose command line or environment matches. */
export async function findProcesses(root: number, pattern: RegExp): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-e', '-o', 'pid=,ppid=']);
  const parents = new Map(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number) as [number, number]),
  );
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && parent > 1 && (parent === root || isBelow(parent));
  };
  const below = [...parents.keys()].filter(isBelow);
  const matching = await Promise.all(
    below.map(async (pid) => {
      const [line, variables] = await Promise.all(
        ['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')),
      );
      return pattern.test(`${line} ${variables}`.replaceAll('\0', ' ')) ? pid : undefined;
    }),
  );
  return matching.filter((pid) => pid !== undefined);
}
