import { onTestFinished } from 'vitest';
import { pruneFinished } from '../../../../core/upkeep/prune.ts';
import { createClient } from '../../../support/database.ts';
import { withQuery } from '../../../support/with-query.ts';
import { bodyFor, type Column, meet, NO_JOB, receiveOne, returns, type Scene, type Way } from './arrivals.ts';
import { bringTo, claimJob, drain, failOnce, loseTenTimes, removeRedrivePolicy, type Status } from './job-states.ts';
import type { World } from './world.ts';

type Arrange = (world: World, column: Column) => Promise<Scene>;

/** Rows of the table, each with all statuses that it covers. */
export const SCENES: Readonly<Record<string, Readonly<Record<string, Arrange>>>> = {
  'pending, failed': { pending: standing('pending'), failed: standing('failed') },
  dispatched: { dispatched: standing('dispatched') },
  'dispatched, its row locked by another transaction': { dispatched: held },
  'running, by this Lambda request': { running: askedTwice },
  'running, by another request': { running: standing('running', { early: true }), 'lease over': standing('running') },
  'succeeded, skipped, cancelled': {
    succeeded: standing('succeeded'),
    skipped: standing('skipped'),
    cancelled: standing('cancelled'),
    "in another handler's queue": standing('succeeded', { to: 'other' }),
  },
  'dead_letter, a delivery recorded': { dead_letter: standing('dead_letter') },
  'dead_letter, none recorded': { dead_letter: unrecorded },
  'dead_letter, received more than 5 times': { dead_letter: standing('dead_letter', { tooOften: true }) },
  'gone, its id was issued': { pruned },
  'gone, its id was never issued': { restored },
  "another handler's, dispatched": { dispatched: standing('dispatched', { to: 'other' }) },
  "another handler's, dead_letter": { dead_letter: standing('dead_letter', { to: 'other' }) },
  "another handler's, dead_letter, received more than 5 times": {
    dead_letter: standing('dead_letter', { to: 'other', tooOften: true }),
  },
  "another handler's, pending, failed, running": {
    pending: standing('pending', { to: 'other' }),
    failed: standing('failed', { to: 'other' }),
    running: standing('running', { to: 'other' }),
  },
  unreadable: { 'no JSON': unreadable },
};

function standing(status: Status, way: Way = {}): Arrange {
  return async (world, column) => {
    const older = column === 'older claim' ? await failOnce(world) : undefined;
    const claimed = await claimJob(world, older?.jobId);
    if (way.tooOften && returns(column)) await removeRedrivePolicy(world, 'work');
    await bringTo(world, status, claimed.record, { keep: returns(column) });
    if (status === 'dead_letter' && !returns(column)) await drain(world);
    return meet(world, column, { status, claimed, older }, way);
  };
}

async function held(world: World, column: Column): Promise<Scene> {
  const scene = await standing('dispatched')(world, column);
  const holder = await createClient(world.engine.database.url);
  await holder.query('begin');
  await holder.query('select from millrace.jobs_live where id = $1 for update', [scene.jobId]);
  return scene;
}

/** Loses the response to the start, so that the same request repeats it. */
async function askedTwice(world: World, column: Column): Promise<Scene> {
  const scene = await standing('dispatched')(world, column);
  const { db } = world.engine;
  let lost = 0;
  const query: typeof db.query = async (text, values) => {
    const answer = await db.query(text, values);
    if (lost++ > 0) return answer as never;
    throw new Error('the connection was lost');
  };
  return { ...scene, deps: { ...scene.deps, db: withQuery(db, query) } };
}

async function unrecorded(world: World, column: Column): Promise<Scene> {
  const { older, last } = await loseTenTimes(world);
  const { queueUrl } = world.work;
  if (!returns(column)) {
    await world.sqs.purgeQueue({ QueueUrl: queueUrl });
    await world.send(queueUrl, bodyFor(world, column, { claimed: last, older }));
  }
  if (column === 'other epoch') await world.engine.sql('select millrace.renew_epoch()');
  const record = await receiveOne(world, queueUrl);
  return { jobId: last.jobId, status: 'dead_letter', handler: 'work', queueUrl, record };
}

const THREE_DAYS = 3 * 86_400;
const ONE_DAY = 86_400;

async function pruned(world: World, column: Column): Promise<Scene> {
  const older = column === 'older claim' ? await failOnce(world) : undefined;
  const claimed = await claimJob(world, older?.jobId);
  await bringTo(world, 'succeeded', claimed.record, { keep: returns(column) });
  await world.advance(THREE_DAYS);
  await pruneFinished(world.engine.db, ONE_DAY);
  return meet(world, column, { status: null, claimed, older });
}

/** Restores a copy from before the job, which has neither the job nor its id. */
async function restored(world: World, column: Column): Promise<Scene> {
  await world.engine.enqueue({ jobType: 'unregistered' });
  const older = column === 'older claim' ? await failOnce(world) : undefined;
  const claimed = await claimJob(world, older?.jobId);
  await world.engine.sql('delete from millrace.jobs_live where id = $1', [claimed.jobId]);
  await world.engine.sql("select setval('millrace.job_ids', $1::bigint - 1)", [claimed.jobId]);
  onTestFinished(async () => {
    await world.engine.sql("select setval('millrace.job_ids', $1)", [claimed.jobId]);
  });
  return meet(world, column, { status: null, claimed, older });
}

async function unreadable(world: World): Promise<Scene> {
  const { queueUrl } = world.work;
  await world.send(queueUrl, 'no JSON');
  return { jobId: NO_JOB, status: null, handler: 'work', queueUrl, record: await receiveOne(world, queueUrl) };
}
