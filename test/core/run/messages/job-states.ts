import { expect, onTestFinished } from 'vitest';
import { Cancel, DeadLetter, Skip, Snooze } from '../../../../core/handler/chosen-outcome.ts';
import { MAX_RECEIVE_COUNT, timingOf } from '../../../../core/handler/timing.ts';
import type { SqsRecord } from '../../../../core/run/sqs-event.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Name, World } from './world.ts';

/** A job and a received message of one of its claims, which no function has handled yet. */
export interface Claimed {
  readonly jobId: string;
  readonly record: SqsRecord;
}

export type Status = 'pending' | 'failed' | 'dispatched' | 'running' | 'dead_letter' | keyof typeof ENDS;

const ENDS = {
  succeeded: () => undefined,
  skipped: () => Promise.reject(new Skip('nothing to do')),
  cancelled: () => Promise.reject(new Cancel('not wanted')),
};
const WORK = {
  ...ENDS,
  pending: () => Promise.reject(new Snooze('1h')),
  failed: () => Promise.reject(new Error('boom')),
  dead_letter: () => Promise.reject(new DeadLetter('hopeless')),
};

const RETRY_AFTER_SECONDS = 61;
const LOSSES = 10;

/** Claims a job, by default a new one, and receives its message. */
export async function claimJob(world: World, jobId?: string): Promise<Claimed> {
  const id = jobId ?? (await world.engine.enqueue());
  await world.dispatch();
  const [record] = await world.receive(world.work.queueUrl);
  return { jobId: id, record: record! };
}

/** Creates a job that has failed once and is due again, and returns the message of its first claim. */
export async function failOnce(world: World): Promise<Claimed> {
  const claimed = await claimJob(world);
  await bringTo(world, 'failed', claimed.record);
  await world.advance(RETRY_AFTER_SECONDS);
  return claimed;
}

/** Runs the function on a received message so that its job gets the status. */
export async function bringTo(world: World, status: Status, record: SqsRecord, { keep = false } = {}): Promise<void> {
  const { engine } = world;
  if (status === 'dispatched') return;
  if (status === 'running') return hang(world, record);
  engine.work = WORK[status];
  await world.handle('work', [record], { keep });
  engine.work = () => undefined;
}

/** Starts an attempt that runs until the end of the test. */
async function hang(world: World, record: SqsRecord): Promise<void> {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  world.engine.work = () => {
    begun.resolve();
    return end.promise;
  };
  const handled = world.handle('work', [record]);
  onTestFinished(() => {
    end.resolve();
    return handled;
  });
  await begun.promise;
  world.engine.work = () => undefined;
}

/** Bounces the message of a dead job until SQS moves it to the dead-letter queue. */
export async function drain(world: World): Promise<void> {
  const { queueUrl, deadLetterQueueUrl } = world.work;
  for (let n = 2; n <= MAX_RECEIVE_COUNT; n++) await world.handle('work', await world.receive(queueUrl));
  await world.receive(queueUrl, 0);
  expect(await world.depth(deadLetterQueueUrl)).toEqual({ visible: 1, hidden: 0 });
}

export async function arnOf({ sqs }: World, QueueUrl: string): Promise<string> {
  const { Attributes } = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ['QueueArn'] });
  return Attributes!.QueueArn!;
}

/** Moves the messages of a dead-letter queue like the console: back, or to another destination. */
export async function moveBack(world: World, to: Name, from: Name = 'work'): Promise<void> {
  const SourceArn = await arnOf(world, world[from].deadLetterQueueUrl);
  const destination = to === from ? {} : { DestinationArn: world[to].queueArn };
  await world.sqs.startMessageMoveTask({ SourceArn, ...destination });
  await eventually(async () => {
    const { Results = [] } = await world.sqs.listMessageMoveTasks({ SourceArn });
    expect(Results[0]).toMatchObject({ Status: 'COMPLETED', ApproximateNumberOfMessagesMoved: 1 });
  });
}

export async function removeRedrivePolicy({ sqs, ...world }: World, name: Name): Promise<void> {
  await sqs.setQueueAttributes({ QueueUrl: world[name].queueUrl, Attributes: { RedrivePolicy: '' } });
}

/** A job that died of lost messages: the first message, and the last one, which arrives late. */
export async function loseTenTimes(world: World): Promise<{ older: Claimed; last: Claimed }> {
  const { engine, sqs, work } = world;
  const lease = timingOf(engine.definition).dispatchedLease + 1;
  const jobId = await engine.enqueue();
  const claims: Claimed[] = [];
  for (let n = 1; n <= LOSSES; n++) {
    await sqs.purgeQueue({ QueueUrl: work.queueUrl });
    claims.push(await claimJob(world, jobId));
    // A job that was dispatched later has started, so the queue works.
    await world.handle('work', [(await claimJob(world)).record]);
    await world.advance(lease);
    await engine.rescue();
  }
  expect(await engine.state(jobId)).toMatchObject({ status: 'dead_letter', losses: LOSSES, message_id: null });
  return { older: claims[0]!, last: claims.at(-1)! };
}
