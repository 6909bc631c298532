import { describe, expect, it } from 'vitest';
import { DeadLetter } from '../../../core/handler/chosen-outcome.ts';
import { cancel } from '../../../core/jobs/cancel.ts';
import { deleteJob } from '../../../core/jobs/delete.ts';
import { listJobs } from '../../../core/look/page-jobs.ts';
import { showJob } from '../../../core/look/show-job.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { fanOut, look, merge } from './family.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });

/** Claims every due job, and runs those whose messages are delivered. */
async function runDue(): Promise<void> {
  await engine.dispatch();
  for (let n = 0; n < 50; n++) {
    const records = engine.queues.receive('memory://work', 10);
    if (records.length === 0) return;
    await engine.run(records);
  }
}

const dueIn = async (id: string) => (await engine.state(id)).due_in ?? 0;
const isHeld = async (id: string) => (await dueIn(id)) > 86_400 * 365;

describe('a job that waits for children', () => {
  it('is due when all of them have finished, and not before', async () => {
    const { children, waiting } = await fanOut(engine, 3);
    expect(children).toHaveLength(3);
    expect(await engine.state(waiting)).toMatchObject({ status: 'pending' });
    expect(await look(engine)).toBe(0);
    expect(await isHeld(waiting)).toBe(true);

    await engine.dispatch();
    const records = engine.queues.receive('memory://work', 2);
    await engine.run(records);
    expect(await look(engine)).toBe(0);
    expect(await isHeld(waiting)).toBe(true);
    await engine.run(engine.queues.receive('memory://work', 2));

    expect(await look(engine)).toBe(1);
    expect(await dueIn(waiting)).toBeLessThanOrEqual(0);
    expect(await look(engine)).toBe(0);
  });

  it('is due from the end of the last child on, so that metrics do not count its wait as a delay', async () => {
    const { waiting } = await fanOut(engine, 1);
    await engine.advance(3600);
    await runDue();

    await look(engine);

    expect(await dueIn(waiting)).toBeGreaterThan(-60);
  });

  it('is due at once without any child', async () => {
    const { waiting } = await fanOut(engine, 0);

    expect(await look(engine)).toBe(1);
    expect(await dueIn(waiting)).toBeLessThanOrEqual(0);
  });

  it.each([
    ['wait', true],
    ['continue', false],
  ] as const)('with a dead child and onDeadChild %s, it waits: %s', async (onDeadChild, waits) => {
    const { children, waiting } = await fanOut(engine, 3, { onDeadChild });
    engine.work = ({ jobId }) => {
      if (jobId === children[1]) throw new DeadLetter('no');
    };
    await runDue();

    await look(engine);
    expect(await isHeld(waiting)).toBe(waits);
    const shown = await showJob(engine.db, waiting);
    if (waits) {
      expect(shown?.waiting).toBe(`it waits for 1 of its 3 children; the first is job ${children[1]}, a dead letter`);
    }
  });

  it.each([
    ['redriven, and then succeeds', (id: string) => engine.sql('select millrace.retry($1)', [id])],
    ['discarded', (id: string) => cancel(engine.db, id)],
    ['deleted', (id: string) => deleteJob(engine.db, id)],
  ])('continues when the dead child is %s', async (_how, end) => {
    const { children, waiting } = await fanOut(engine, 2);
    engine.work = ({ jobId }) => {
      if (jobId === children[0]) throw new DeadLetter('no');
    };
    await runDue();
    await look(engine);
    expect(await isHeld(waiting)).toBe(true);
    engine.work = () => undefined;

    await end(children[0]!);
    engine.queues.purge();
    await runDue();

    expect(await look(engine)).toBe(1);
    expect(await isHeld(waiting)).toBe(false);
  });

  it('continues once for 2,500 children, whatever two dispatchers and a locked row do', async () => {
    const { waiting } = await fanOut(engine, 2_500);
    await engine.sql(`select millrace.finish_cancelled(array(select id from millrace.jobs_live where id <> $1), 'x')`, [
      waiting,
    ]);
    const other = await createClient(engine.database.url);
    await other.query('begin');
    await other.query('select from millrace.jobs_live where id = $1 for update', [waiting]);
    expect(await look(engine)).toBe(0);
    await other.query('rollback');

    const counts = await Promise.all([look(engine), look(engine), look(engine)]);
    const again = await look(engine);

    expect(counts.reduce((sum, n) => sum + n, again)).toBe(1);
    expect(await isHeld(waiting)).toBe(false);
  });

  it('reads each finished child once, however long the last one takes', async () => {
    const { children, waiting } = await fanOut(engine, 1_500);
    await engine.sql(`select millrace.finish_cancelled($1::bigint[], 'x')`, [children.slice(0, -1)]);
    await look(engine);
    const [join] = await engine.sql('select finished from millrace.job_joins where job_id = $1', [waiting]);

    expect(join).toEqual({ finished: 1_499 });
  });

  it('says how many children it waits for', async () => {
    const { children, waiting } = await fanOut(engine, 3);
    await engine.sql(`select millrace.finish_cancelled(array[$1::bigint], 'x')`, [children[0]]);

    const before = await showJob(engine.db, waiting);
    const items = await listJobs(engine.db, { statuses: ['pending'], jobTypes: ['merge'] }, 10);
    await engine.sql(`select millrace.finish_cancelled($1::bigint[], 'x')`, [children]);
    const after = await showJob(engine.db, waiting);

    expect(before?.waiting).toBe(`it waits for 2 of its 3 children; the first is job ${children[1]}, pending`);
    // The year 9999 would not be true.
    expect(before?.job.dueAt).toBeNull();
    expect(items.find(({ id }) => id === waiting)?.dueAt).toBeNull();
    expect(after?.waiting).toBe('all of its 3 children have finished; the dispatcher makes it due');
  });
});

it.each([
  [{ onAllFinished: { handler: merge, payload: {} }, onDeadChild: 'stop' }, /^onDeadChild: expected 'wait' or/],
  [{ onAllFinished: { payload: {} } }, /^onAllFinished.handler: expected the definition/],
  [{}, /^onAllFinished.handler: expected the definition/],
  [{ onFinished: {} }, /unknown option onFinished/],
  [{ onAllFinished: merge }, /^onAllFinished: expected a job, \{ handler, payload \}/],
  [{ onAllFinished: { handler: merge, payload: 1, onDeadChild: 'wait' } }, /^onAllFinished.onDeadChild: .* beside/],
])('wrong options are refused by name: %j', async (options, message) => {
  const { records, ids } = await engine.deliver(1);
  engine.work = ({ enqueueChildren }) => enqueueChildren([], options as never);

  await engine.run(records);

  expect((await engine.state(ids[0]!)).last_error).toMatch(message);
});

it.each([
  ['an option', [{ handler: merge, payload: {}, priority: 10 }], /^children\[0\]\.priority: expected/],
  ['no array', { handler: merge, payload: {} }, /^children: expected an array/],
])('a wrong child is refused by its place: %s', async (_what, children, message) => {
  const { records, ids } = await engine.deliver(1);
  engine.work = ({ enqueueChildren }) =>
    enqueueChildren(children as never, { onAllFinished: { handler: merge, payload: {} } });

  await engine.run(records);

  expect((await engine.state(ids[0]!)).last_error).toMatch(message);
});
