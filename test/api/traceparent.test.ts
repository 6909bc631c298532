import { beforeEach, expect, it } from 'vitest';
import { openDatabaseEngine } from '../support/database-engine.ts';
import { exporter } from '../support/spans.ts';
import { appOf, askApp } from './world.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const app = appOf(engine);
beforeEach(() => exporter.reset());

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const JOB = { job_type: 'work', payload: {} };

async function ask(path: string, body: unknown, traceparent: string) {
  const { status } = await askApp(app, path, { method: 'POST', body, headers: { traceparent } });
  await engine.dispatch();
  await engine.run(engine.queues.receive('memory://work', 10));
  const attempts = exporter.getFinishedSpans().filter(({ name }) => name === 'process work');
  const links = attempts.map((attempt) => attempt.links.map((link) => link.context));
  return { status, links };
}

it.each([
  ['with a traceparent', `00-${TRACE}-${SPAN}-01`, 1],
  ['that is not sampled', `00-${TRACE}-${SPAN}-00`, 0],
  ['with a traceparent of a later version', `cc-${TRACE}-${SPAN}-01-what-is-new`, 1],
])('an attempt links to the trace of the request %s', async (_name, traceparent, traceFlags) => {
  const { status, links } = await ask('/jobs', JOB, traceparent);

  expect(status).toBe(201);
  expect(links).toMatchObject([[{ traceId: TRACE, spanId: SPAN, traceFlags, isRemote: true }]]);
});

it('attempts of all jobs of a bulk request link to its trace', async () => {
  const { status, links } = await ask('/jobs/bulk', { jobs: [JOB, JOB, JOB] }, `00-${TRACE}-${SPAN}-01`);

  expect(status).toBe(201);
  expect(links).toMatchObject([[{ spanId: SPAN }], [{ spanId: SPAN }], [{ spanId: SPAN }]]);
});

it.each([
  ['nonsense', 'nonsense'],
  ['capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['the forbidden version', `ff-${TRACE}-${SPAN}-01`],
  ['extra fields in version 00', `00-${TRACE}-${SPAN}-01-more`],
  ['two values', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
])('a request with a traceparent of %s enqueues the job without a trace', async (_name, traceparent) => {
  const one = await ask('/jobs', JOB, traceparent);
  const { rows } = await engine.database.pool.query('select traceparent from millrace.jobs');

  expect(one).toEqual({ status: 201, links: [[]] });
  expect(rows).toEqual([{ traceparent: null }]);
});
