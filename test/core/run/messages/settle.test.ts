import { expect, it } from 'vitest';
import { DeadLetter } from '../../../../core/handler/chosen-outcome.ts';
import { timingOf } from '../../../../core/handler/timing.ts';
import type { Database } from '../../../../core/postgres/database.ts';
import { systemTime, type Time } from '../../../../core/time.ts';
import { createClient } from '../../../support/database.ts';
import { hastyTime, openDatabaseEngine } from '../../../support/database-engine.ts';
import { withQuery } from '../../../support/with-query.ts';
import { claimJob, drain, moveBack } from './job-states.ts';
import { hiddenSeconds, openWorld, type World } from './world.ts';

const engine = await openDatabaseEngine();

const LEASE_SECONDS = timingOf(engine.definition).runningLease + 1;
/** A crash waits at least a fifth longer than the policy's minute. */
const RETRY_SECONDS = 75;

const GONE = { visible: 0, hidden: 0 };
const BOUNCED = { visible: 1, hidden: 0 };
const LEFT = { visible: 0, hidden: 1 };

/** Rescues the job of an attempt whose lease has expired. */
async function takeAway(world: World): Promise<void> {
  await world.advance(LEASE_SECONDS);
  await engine.rescue();
}

async function takeAwayAndClaim(world: World): Promise<void> {
  await takeAway(world);
  await world.advance(RETRY_SECONDS);
  await world.dispatch();
}

async function runElsewhere(world: World): Promise<void> {
  await takeAwayAndClaim(world);
  engine.work = () => undefined;
  await world.handle('work', await world.receive(world.work.queueUrl));
}

async function discard(world: World, jobId: string): Promise<void> {
  await takeAway(world);
  await engine.sql('delete from millrace.failed_jobs where job_id = $1', [jobId]);
}

async function redriveBySql(world: World, jobId: string): Promise<void> {
  await takeAway(world);
  await engine.sql('select millrace.retry($1)', [jobId]);
}

async function dieElsewhere(world: World): Promise<void> {
  await takeAwayAndClaim(world);
  engine.work = () => Promise.reject(new DeadLetter('hopeless'));
  await world.handle('work', await world.receive(world.work.queueUrl));
  await drain(world);
}

const MEANWHILE = [
  { what: 'waits for its next attempt', meanwhile: takeAway, status: 'failed', depth: GONE },
  { what: 'is dead under this claim', tries: 1, meanwhile: takeAway, status: 'dead_letter', depth: BOUNCED },
  { what: 'is redriven', tries: 1, meanwhile: redriveBySql, status: 'pending', depth: GONE },
  { what: 'is discarded', tries: 1, meanwhile: discard, status: 'cancelled', depth: GONE },
  { what: 'is claimed again', meanwhile: takeAwayAndClaim, status: 'dispatched', depth: { visible: 1, hidden: 0 } },
  { what: 'has succeeded elsewhere', meanwhile: runElsewhere, status: 'succeeded', depth: GONE },
  { what: 'is dead under a later claim', meanwhile: dieElsewhere, status: 'dead_letter', depth: GONE },
];

it.each(MEANWHILE)('an attempt whose job was rescued and $what changes nothing', async (story) => {
  const { tries: maxAttempts = 5, meanwhile, status, depth } = story;
  const world = await openWorld(engine);
  const { jobId, record } = await claimJob(world, await engine.enqueue({ maxAttempts }));
  engine.work = () => meanwhile(world, jobId);

  await world.handle('work', [record]);

  expect(await world.depth(world.work.queueUrl)).toEqual(depth);
  expect(await engine.state(jobId)).toMatchObject({ status, result: null });
  expect(engine.lines).toContainEqual(expect.objectContaining({ event: 'outcome_not_ours', job_id: jobId }));
});

it('the message of a job that rescue made a dead letter moves to the DLQ, and redrives the job', async () => {
  const world = await openWorld(engine);
  const { jobId, record } = await claimJob(world, await engine.enqueue({ maxAttempts: 1 }));
  engine.work = () => takeAway(world);
  await world.handle('work', [record]);
  engine.work = () => 'well';

  await drain(world);
  await moveBack(world, 'work');
  await world.pump('work');
  await world.dispatch();
  await world.pump('work');

  expect(await engine.state(jobId)).toMatchObject({ status: 'succeeded', attempts: 1, result: 'well' });
  expect(await engine.sql('select status, resolution from millrace.dead_letters where job_id = $1', [jobId])).toEqual([
    { status: 'redriven', resolution: 'sqs' },
  ]);
  expect(await world.depth(world.work.queueUrl)).toEqual(GONE);
  expect(await world.depth(world.work.deadLetterQueueUrl)).toEqual(GONE);
});

/** Loses the first response after the attempt. */
function losingAnswer(hasRun: () => boolean): Database {
  let losses = 1;
  const query = async (text: string, values?: readonly unknown[]): Promise<unknown> => {
    const answer = await engine.db.query(text, values);
    if (hasRun() && losses-- > 0) throw new Error('Connection terminated unexpectedly');
    return answer;
  };
  return withQuery(engine.db, query);
}

const OUTCOMES = [
  { what: 'a success', work: () => 'well', status: 'succeeded', depth: GONE },
  { what: 'a failure', work: () => Promise.reject(new Error('boom')), status: 'failed', depth: GONE },
  {
    what: 'a dead letter',
    work: () => Promise.reject(new DeadLetter('hopeless')),
    status: 'dead_letter',
    depth: BOUNCED,
  },
];

it.each(OUTCOMES)(
  '$what that was stored but whose response was lost is reported as usual',
  async ({ work, status, depth }) => {
    const world = await openWorld(engine);
    const { jobId, record } = await claimJob(world);
    engine.work = work;
    const db = losingAnswer(() => engine.runs.length > 0);

    await world.handle('work', [record], { deps: { db } });

    expect(engine.lines).toContainEqual(expect.objectContaining({ event: 'settle_failed' }));
    expect(await world.depth(world.work.queueUrl)).toEqual(depth);
    expect(await engine.state(jobId)).toMatchObject({ status, attempts: 1 });
  },
);

/** Starts an attempt whose row is locked in its middle, and returns a function that unlocks it. */
async function holdDuringRun(jobId: string): Promise<() => Promise<unknown>> {
  const holder = await createClient(engine.database.url);
  engine.work = async () => {
    await holder.query('begin');
    await holder.query('select from millrace.jobs_live where id = $1 for update', [jobId]);
    return 'well';
  };
  return () => holder.query('rollback');
}

it('a locked row is settled as soon as it is free', async () => {
  const world = await openWorld(engine);
  const { jobId, record } = await claimJob(world);
  const free = await holdDuringRun(jobId);
  // The pause between two settles has no signal; the time of the attempt continues.
  const sleep: Time['sleep'] = async (ms, signal) => (signal ? systemTime.sleep(ms, signal) : void (await free()));

  await world.handle('work', [record], { deps: { time: { ...systemTime, sleep } } });

  expect(await engine.state(jobId)).toMatchObject({ status: 'succeeded', attempts: 1, result: 'well' });
  expect(await world.depth(world.work.queueUrl)).toEqual(GONE);
});

it('a row that stays locked leaves the message, which is deleted after the rescue', async () => {
  const world = await openWorld(engine);
  const { jobId, record } = await claimJob(world);
  const free = await holdDuringRun(jobId);
  let questions = 5;
  const remainingMs = () => (questions-- > 0 ? 600_000 : 0);

  await world.handle('work', [record], { deps: { time: hastyTime }, remainingMs });
  const left = await world.depth(world.work.queueUrl);
  await free();
  await world.advance(hiddenSeconds(engine));
  await engine.rescue();
  await world.pump('work');

  expect(left).toEqual(LEFT);
  const reason = expect.stringMatching(/lock/);
  expect(engine.lines).toContainEqual(
    expect.objectContaining({ event: 'settle_given_up', jobs: 1, job_ids: jobId, reason }),
  );
  expect(await engine.state(jobId)).toMatchObject({ status: 'failed', attempts: 1, suspect: true });
  expect(await world.depth(world.work.queueUrl)).toEqual(GONE);
});
