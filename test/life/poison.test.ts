import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { readDeadLetters, readJob, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

/** Half of them at once, the others while the first crash is mended, so that suspects meet new jobs. */
const JOBS = 200;
/** In the middle of the first half: it starts with nine others, and while other batches run. */
const POISON = 55;
/** Each costs a lease of 16 s. */
const ATTEMPTS = 2;

/** Takes its whole process with it, when those of its batch have begun and none has ended. */
const BODY = `
    await wait(payload.poison ? 60 : 150, undefined, { signal });
    if (payload.poison) process.kill(process.pid, 'SIGKILL');
    return jobId;`;
const OPTIONS = `timeout: '1s', maxAttempts: ${ATTEMPTS}, concurrency: 2, batch: { size: 10 },`;

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  project = await makeProject({ 'fragile.ts': handlerSource('fragile', BODY, OPTIONS) });
  stack = await startUp(project, ['--fast-retries']);
});

afterAll(() => project.remove());

it('a job that kills its process dies alone, and no other loses more than one attempt', async () => {
  const poison = await enqueueAll();

  await untilJob(stack, poison, { status: 'dead_letter', attempts: ATTEMPTS }, 90_000);
  await eventually(async () => expect(await countOpen()).toBe(0), { timeout: 30_000, interval: 200 });

  const others = await readOthers(poison);
  expect(others.filter(({ status }) => status !== 'succeeded')).toEqual([]);
  expect(others).toHaveLength(JOBS - 1);
  expect(others.filter(({ attempts }) => attempts > 2)).toEqual([]);
  // Those that the first crash found in its process; without them this story would tell nothing.
  const dragged = others.filter(({ attempts }) => attempts === 2).length;
  expect(dragged).toBeGreaterThanOrEqual(1);
  expect(dragged).toBeLessThanOrEqual(9);
  expect((await readJob(stack, poison)).last_error).toMatch(/lease expired/);
  expect(await readDeadLetters(stack, poison)).toMatchObject([{ status: 'open' }]);
  expect(stack.output().split('Runtime exited with error: signal: killed')).toHaveLength(ATTEMPTS + 1);
}, 150_000);

async function enqueueAll(): Promise<string> {
  const rows = await stack.query<{ id: string; poison: boolean }>(
    `insert into millrace.jobs (job_type, payload, run_at)
       select 'fragile', jsonb_build_object('poison', n = $2::integer),
              millrace.clock() + greatest(0, n - $1::integer / 2) * interval '300 milliseconds'
         from generate_series(1, $1::integer) n
       returning id::text, (payload ->> 'poison')::boolean as poison`,
    [JOBS, POISON],
  );
  return rows.find((row) => row.poison)?.id as string;
}

async function countOpen(): Promise<number | undefined> {
  const [row] = await stack.query<{ open: number }>(
    `select count(*)::integer as open from millrace.jobs_live where status <> 'dead_letter'`,
  );
  return row?.open;
}

function readOthers(poison: string) {
  return stack.query<{ id: string; status: string; attempts: number }>(
    'select id::text, status, attempts from millrace.jobs where id <> $1',
    [poison],
  );
}
