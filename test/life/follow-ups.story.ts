import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { insertJob, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

const TOGETHER = `import * as z from 'zod';
import { DeadLetter, defineHandler } from '../../core/index.ts';

export default defineHandler({
  jobType: 'store',
  payload: z.object({ n: z.number() }),
  batch: { size: 10, window: '1s' },
  onDeadLetter: 'report',
  async runBatch(jobs) {
    return new Map(jobs.map(({ jobId, payload: { n } }) => [jobId, n < 0 ? new DeadLetter('negative') : jobs.length]));
  },
});
`;
const SPLIT = `import * as z from 'zod';
import { defineHandler } from '../../core/index.ts';
import merge from './merge.ts';
import store from './store.ts';

export default defineHandler({
  jobType: 'split',
  payload: z.object({ from: z.number(), count: z.number() }),
  async run({ payload: { from, count }, enqueueChildren }) {
    const children = Array.from({ length: count }, (_, n) => ({ handler: store, payload: { n: from + n } }));
    await enqueueChildren(children, { onAllFinished: { handler: merge, payload: {} }, onDeadChild: 'continue' });
  },
});
`;

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  project = await makeProject({
    ...{ 'store.ts': TOGETHER, 'split.ts': SPLIT },
    'merge.ts': handlerSource('merge', 'return 1;'),
    'report.ts': handlerSource('report', 'return payload;'),
  });
  stack = await startUp(project);
});

afterAll(async () => {
  await stack?.stop();
  await project?.remove();
});

it('a job fans out to jobs that run together; one dies and is reported, and the others are continued', async () => {
  const parent = await insertJob(stack, 'split', { from: -1, count: 30 });
  await untilJob(stack, parent, { status: 'succeeded' });
  const [waiting] = await stack.query(`select id::text from millrace.jobs where job_type = 'merge'`);
  await untilJob(stack, (waiting as { id: string }).id, { status: 'succeeded', result: 1 });

  const stored = await stack.query(
    `select status, count(*)::int as jobs, max(result::int) > 1 as together from millrace.jobs
       where job_type = 'store' group by 1 order by 1`,
  );
  const reports = await stack.query(
    `select payload ->> 'error_message' as message from millrace.jobs where job_type = 'report'`,
  );

  expect(stored).toEqual([
    { status: 'dead_letter', jobs: 1, together: null },
    { status: 'succeeded', jobs: 29, together: true },
  ]);
  expect(reports).toEqual([{ message: 'negative' }]);
});
