import { expect, it } from 'vitest';
import { createClient } from '../../../support/database.ts';
import { openDatabaseEngine } from '../../../support/database-engine.ts';
import { receiveOne } from './arrivals.ts';
import { bringTo, claimJob, drain, loseTenTimes, moveBack } from './job-states.ts';
import { hiddenSeconds, type Name, openWorld, type World } from './world.ts';

const engine = await openDatabaseEngine();

const EMPTY = { visible: 0, hidden: 0 };
const LEFT = { visible: 0, hidden: 1 };

/** Locks a job's row, and returns a function that unlocks it. */
async function hold(jobId: string): Promise<() => Promise<unknown>> {
  const holder = await createClient(engine.database.url);
  await holder.query('begin');
  await holder.query('select from millrace.jobs_live where id = $1 for update', [jobId]);
  return () => holder.query('rollback');
}

async function redriven(world: World): Promise<string> {
  const { jobId, record } = await claimJob(world);
  await bringTo(world, 'dead_letter', record);
  await drain(world);
  await moveBack(world, 'work');
  return jobId;
}

async function astray(world: World): Promise<string> {
  const { jobId, record } = await claimJob(world);
  await world.send(world.other.queueUrl, record.body);
  await world.sqs.deleteMessage({ QueueUrl: world.work.queueUrl, ReceiptHandle: record.receiptHandle });
  return jobId;
}

const HELD: { what: string; arrange: (world: World) => Promise<string>; at: Name; held: string }[] = [
  { what: 'a redrive', arrange: redriven, at: 'work', held: 'dead_letter' },
  { what: 'a release', arrange: astray, at: 'other', held: 'dispatched' },
];

it.each(HELD)(
  '$what of a locked row changes nothing, and succeeds when its message is delivered again',
  async (story) => {
    const world = await openWorld(engine);
    const { queueUrl } = world[story.at];
    const jobId = await story.arrange(world);
    const free = await hold(jobId);

    await world.pump(story.at);
    const held = await engine.state(jobId);
    const left = await world.depth(queueUrl);
    await free();
    await world.advance(hiddenSeconds(engine));
    const counts = await world.pump(story.at);

    expect(held.status).toBe(story.held);
    expect(left).toEqual(LEFT);
    expect(counts).toEqual([2]);
    expect(await engine.state(jobId)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(await world.depth(queueUrl)).toEqual(EMPTY);
  },
);

it('an adoption of a locked row bounces, and succeeds at the next receive', async () => {
  const world = await openWorld(engine);
  const { last } = await loseTenTimes(world);
  const free = await hold(last.jobId);

  const late = await receiveOne(world, world.work.queueUrl);
  await world.handle('work', [late]);
  const held = await engine.state(last.jobId);
  await free();
  await world.handle('work', await world.receive(world.work.queueUrl));

  expect(held.message_id).toBeNull();
  expect(await engine.state(last.jobId)).toMatchObject({ status: 'dead_letter', message_id: late.messageId });
});

it.each([1, 2, 8])(
  'a message and %i copies of it in one batch start their job once and are all deleted',
  async (copies) => {
    const world = await openWorld(engine);
    const { queueUrl } = world.work;
    const { jobId, record } = await claimJob(world);
    for (let n = 0; n < copies; n++) await world.send(queueUrl, record.body);

    await world.handle('work', [record, ...(await world.receive(queueUrl, copies))]);

    expect(engine.runs).toEqual([jobId]);
    expect(await engine.state(jobId)).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect(await world.depth(queueUrl)).toEqual(EMPTY);
  },
);

it('a message and its copy at two functions concurrently start their job once', async () => {
  const world = await openWorld(engine);
  const { queueUrl } = world.work;
  const { jobId, record } = await claimJob(world);
  await world.send(queueUrl, record.body);
  const copy = await receiveOne(world, queueUrl);

  await Promise.all([world.handle('work', [record]), world.handle('work', [copy])]);
  await world.advance(hiddenSeconds(engine));
  await world.pump('work');

  expect(engine.runs).toEqual([jobId]);
  expect(await engine.state(jobId)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(await world.depth(queueUrl)).toEqual(EMPTY);
});

it('the message of a dead job and its copy in one batch redrive it once, and both are deleted', async () => {
  const world = await openWorld(engine);
  const { queueUrl } = world.work;
  const { jobId, record } = await claimJob(world);
  await bringTo(world, 'dead_letter', record);
  await world.send(queueUrl, record.body);

  await world.handle('work', await world.receive(queueUrl, 2));
  const after = await engine.state(jobId);
  await world.pump('work');

  expect(after).toMatchObject({ status: 'pending', attempts: 0 });
  expect(await world.depth(queueUrl)).toEqual(EMPTY);
  const audit = await engine.sql("select from millrace.audit_log where action = 'redrive' and job_id = $1", [jobId]);
  expect(audit).toHaveLength(1);
});
