import { expect, it } from 'vitest';
import { MAX_RECEIVE_COUNT } from '../../../../core/handler/timing.ts';
import { openDatabaseEngine } from '../../../support/database-engine.ts';
import { receiveOne, show } from './arrivals.ts';
import { bringTo, claimJob, drain, loseTenTimes, moveBack } from './job-states.ts';
import { openWorld, type World } from './world.ts';

const engine = await openDatabaseEngine();

const alarms = () => engine.lines.filter(({ event }) => event === 'message_unexpected').map(({ step }) => step);

/** Counts all messages of queues and dead-letter queues, visible or hidden. */
async function countMessages(world: World): Promise<number> {
  const urls = [world.work, world.other].flatMap(({ queueUrl, deadLetterQueueUrl }) => [queueUrl, deadLetterQueueUrl]);
  const depths = await Promise.all(urls.map((url) => world.depth(url)));
  return depths.reduce((sum, { visible, hidden }) => sum + visible + hidden, 0);
}

/** Receives the message without a start until SQS moves it to the dead-letter queue. */
async function failToBegin(world: World): Promise<void> {
  for (let n = 2; n <= MAX_RECEIVE_COUNT; n++) await show(world, await receiveOne(world, world.work.queueUrl));
  await world.receive(world.work.queueUrl, 0);
}

it("a dead job moved into another handler's queue is redriven, and runs under its own handler", async () => {
  const world = await openWorld(engine);
  const { jobId, record } = await claimJob(world);
  await bringTo(world, 'dead_letter', record);
  await drain(world);

  await moveBack(world, 'other');
  const elsewhere = await world.pump('other');
  const redriven = await engine.state(jobId);
  await world.dispatch();
  await world.pump('work');

  expect(elsewhere).toEqual([1]);
  expect(redriven).toMatchObject({ status: 'pending', attempts: 0 });
  expect(await engine.state(jobId)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(await countMessages(world)).toBe(0);
});

it("a job that never started is released when its message comes to another handler's queue", async () => {
  const world = await openWorld(engine);
  const { jobId, record } = await claimJob(world);
  await show(world, record);
  await failToBegin(world);

  await moveBack(world, 'other');
  const elsewhere = await world.pump('other');
  const released = await engine.state(jobId);
  await world.dispatch();
  await world.pump('work');

  expect(elsewhere).toEqual([1]);
  expect(alarms()).toEqual(['release']);
  expect(released).toMatchObject({ status: 'pending', attempts: 0, losses: 0 });
  expect(await engine.state(jobId)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(await countMessages(world)).toBe(0);
});

it('the message of a dead job without a delivery moves from the wrong queue to its DLQ, and back', async () => {
  const world = await openWorld(engine);
  const { last } = await loseTenTimes(world);
  const { jobId } = last;
  await failToBegin(world);
  engine.runs.length = 0;

  await moveBack(world, 'other');
  const astray = await world.pump('other');
  const stillDead = await engine.state(jobId);
  await moveBack(world, 'work', 'other');
  const home = await world.pump('work');
  const adopted = await engine.state(jobId);
  await moveBack(world, 'work');
  await world.pump('work');
  await world.dispatch();
  await world.pump('work');

  expect(astray).toEqual([1, 2, 3, 4, 5]);
  expect(alarms()).toEqual(Array(5).fill('bounce'));
  expect(stillDead).toMatchObject({ status: 'dead_letter', message_id: null });
  expect(home).toEqual([1, 2, 3, 4, 5]);
  expect(adopted).toMatchObject({ status: 'dead_letter', message_id: expect.any(String) });
  expect(engine.runs).toEqual([jobId]);
  expect(await engine.state(jobId)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(await countMessages(world)).toBe(0);
});

it('two operators that move the same dead job, one to the wrong queue, redrive it once', async () => {
  const world = await openWorld(engine);
  const { jobId, record } = await claimJob(world);
  await bringTo(world, 'dead_letter', record);
  await drain(world);
  await world.send(world.work.queueUrl, record.body);
  await moveBack(world, 'other');

  await Promise.all([world.pump('work'), world.pump('other')]);
  await world.dispatch();
  await world.pump('work');

  expect(engine.runs).toEqual([jobId, jobId]);
  const audit = await engine.sql("select from millrace.audit_log where action = 'redrive' and job_id = $1", [jobId]);
  expect(audit).toHaveLength(1);
  expect(await engine.state(jobId)).toMatchObject({ status: 'succeeded', attempts: 1 });
});
