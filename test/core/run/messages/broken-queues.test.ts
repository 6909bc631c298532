import { expect, it } from 'vitest';
import { DeadLetter } from '../../../../core/handler/chosen-outcome.ts';
import { openDatabaseEngine } from '../../../support/database-engine.ts';
import { arnOf, removeRedrivePolicy } from './job-states.ts';
import { hiddenSeconds, openWorld, type World } from './world.ts';

const engine = await openDatabaseEngine();

const EMPTY = { visible: 0, hidden: 0 };
const ONE_HIDDEN = { visible: 0, hidden: 1 };

async function deleteDeadLetterQueue({ sqs, work }: World): Promise<void> {
  await sqs.deleteQueue({ QueueUrl: work.deadLetterQueueUrl });
}

/** Changes of a person, and repairs with the values of a deployment. */
async function restorePolicy(world: World): Promise<void> {
  const { queueUrl, deadLetterQueueUrl } = world.work;
  const deadLetterTargetArn = await arnOf(world, deadLetterQueueUrl);
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 5 });
  await world.sqs.setQueueAttributes({ QueueUrl: queueUrl, Attributes: { RedrivePolicy } });
}

async function restoreQueue({ sqs, work }: World): Promise<void> {
  await sqs.createQueue({ QueueName: work.deadLetterQueueUrl.split('/').at(-1)! });
}

const BREAKS = [
  {
    what: 'redrive policy was removed',
    spoil: (world: World) => removeRedrivePolicy(world, 'work'),
    mend: restorePolicy,
  },
  { what: 'dead-letter queue was deleted', spoil: deleteDeadLetterQueue, mend: restoreQueue },
];

it.each(BREAKS)(
  'a dead job in a queue whose $what does not loop, and its message moves after the repair',
  async (story) => {
    const world = await openWorld(engine);
    const { queueUrl, deadLetterQueueUrl } = world.work;
    engine.work = () => Promise.reject(new DeadLetter('hopeless'));
    const id = await engine.enqueue();
    await story.spoil(world);
    await world.dispatch();

    const counts = await world.pump('work');
    const left = await world.depth(queueUrl);
    const alarms = engine.lines.filter(({ event }) => event === 'message_unexpected');
    await world.advance(hiddenSeconds(engine));
    const later = await world.pump('work');
    await world.advance(hiddenSeconds(engine));
    await story.mend(world);
    const mended = await world.pump('work');

    expect(counts).toEqual([1, 2, 3, 4, 5, 6]);
    expect(left).toEqual(ONE_HIDDEN);
    expect(alarms).toMatchObject([
      { level: 'error', step: 'leave', job_id: id, reason: expect.stringMatching(/redrive policy/) },
    ]);
    expect(later).toEqual([7]);
    expect(mended).toEqual([]);
    expect(await world.depth(queueUrl)).toEqual(EMPTY);
    expect(await world.depth(deadLetterQueueUrl)).toEqual({ visible: 1, hidden: 0 });
    expect(engine.runs).toEqual([id]);
  },
);

it.each(BREAKS)('an unreadable message in a queue whose $what does not loop', async (story) => {
  const world = await openWorld(engine);
  const { queueUrl, deadLetterQueueUrl } = world.work;
  await story.spoil(world);
  await world.send(queueUrl, 'nonsense');

  const counts = await world.pump('work');
  const left = await world.depth(queueUrl);
  const reasons = engine.lines.filter(({ event }) => event === 'message_unreadable').map(({ reason }) => reason);
  await world.advance(hiddenSeconds(engine));
  await story.mend(world);
  await world.pump('work');

  expect(counts).toEqual([1, 2, 3, 4, 5, 6]);
  expect(left).toEqual(ONE_HIDDEN);
  expect(reasons).toEqual([...Array(5).fill('not a Millrace message'), expect.stringMatching(/redrive policy/)]);
  expect(await world.depth(deadLetterQueueUrl)).toEqual({ visible: 1, hidden: 0 });
});

it.each(BREAKS)('a dead job in a queue whose $what can be redriven with SQL', async (story) => {
  const world = await openWorld(engine);
  const id = await engine.enqueue();
  await story.spoil(world);
  engine.work = () => Promise.reject(new DeadLetter('hopeless'));
  await world.dispatch();
  await world.pump('work');
  engine.work = () => 'well';

  await engine.sql('select millrace.retry($1)', [id]);
  await world.dispatch();
  await world.pump('work');
  await world.advance(hiddenSeconds(engine));
  await world.pump('work');

  expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1, result: 'well' });
  expect(await world.depth(world.work.queueUrl)).toEqual(EMPTY);
});
