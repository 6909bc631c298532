import { expect, it } from 'vitest';
import { startRedrive, stepRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { MAX_RECEIVE_COUNT } from '../../../core/handler/timing.ts';
import { ensureQueues } from '../../../local/functions/handler-queues.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { removeRedrivePolicy } from '../run/messages/job-states.ts';
import { hiddenSeconds } from '../run/messages/world.ts';
import { type DeadLetterWorld, openDeadLetterWorld } from './dead-letter-world.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const EMPTY = { visible: 0, hidden: 0 };
const HOUR = 3600;

/** Sets the redrive policy like a deployment. */
const deploy = ({ sqs }: DeadLetterWorld) => ensureQueues(sqs, 'test', engine.definition);

async function mirrorHourly(world: DeadLetterWorld, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    await world.advance(HOUR);
    await world.mirror();
  }
}

const logged = (event: string) => engine.lines.filter((line) => line.event === event);

it('dead jobs of a deleted queue have messages again after a deployment, and a move task redrives them', async () => {
  const world = await openDeadLetterWorld(engine);
  const { queueUrl, deadLetterQueueUrl } = world.work;
  const ids = await world.die(3);
  await world.mirror();
  await world.sqs.deleteQueue({ QueueUrl: deadLetterQueueUrl });

  await mirrorHourly(world, 2);
  const alarms = logged('dead_letter_queue_missing').length;
  const without = logged('carriers_sent').length;
  await deploy(world);
  await mirrorHourly(world, 2);
  const counts = await world.pump('work');
  await world.mirror();
  const carried = await world.depth(deadLetterQueueUrl);
  const rows = await world.rows();
  engine.runs.length = 0;
  const moved = await world.moveTask();
  await world.workOff();

  expect([alarms, without]).toEqual([2, 0]);
  expect(logged('carriers_sent')).toMatchObject([{ jobs: 3, sent: 3 }]);
  expect(counts).toHaveLength(3 * MAX_RECEIVE_COUNT);
  expect(carried).toEqual({ visible: 3, hidden: 0 });
  expect(rows).toMatchObject(ids.map((job_id) => ({ job_id, status: 'open', seen: true })));
  expect(moved).toBe(3);
  expect(engine.runs.toSorted()).toEqual(ids.toSorted());
  for (const id of ids) expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(await world.depth(queueUrl)).toEqual(EMPTY);
  expect(await world.depth(deadLetterQueueUrl)).toEqual(EMPTY);
});

it('a job that dies without a redrive policy is stored, and its message moves after a deployment', async () => {
  const world = await openDeadLetterWorld(engine);
  const { queueUrl, deadLetterQueueUrl } = world.work;
  await removeRedrivePolicy(world, 'work');
  const [id] = (await world.die(1)) as [string];
  await world.mirror();
  const known = await world.rows();
  const left = await world.depth(queueUrl);

  await deploy(world);
  await world.advance(hiddenSeconds(engine));
  await world.pump('work');
  await world.mirror();
  const arrived = await world.rows();
  engine.runs.length = 0;
  await world.moveTask();
  await world.workOff();

  expect(known).toMatchObject([{ job_id: id, status: 'open', seen: false }]);
  expect(left).toEqual({ visible: 0, hidden: 1 });
  expect(arrived).toMatchObject([{ job_id: id, status: 'open', seen: true }]);
  expect(engine.runs).toEqual([id]);
  expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(await world.depth(queueUrl)).toEqual(EMPTY);
  expect(await world.depth(deadLetterQueueUrl)).toEqual(EMPTY);
});

it('carriers do not accumulate in a queue without a redrive policy', async () => {
  const world = await openDeadLetterWorld(engine);
  await removeRedrivePolicy(world, 'work');
  const [id] = (await world.die(1)) as [string];

  for (let n = 0; n < 4; n++) {
    await mirrorHourly(world, 1);
    await world.pump('work');
  }
  await deploy(world);
  await world.advance(hiddenSeconds(engine));
  await world.pump('work');
  await world.mirror();

  expect(logged('carriers_sent').length).toBeGreaterThan(0);
  expect(await world.depth(world.work.queueUrl)).toEqual(EMPTY);
  expect(await world.depth(world.work.deadLetterQueueUrl)).toEqual({ visible: 1, hidden: 0 });
  expect(await world.rows()).toMatchObject([{ job_id: id, status: 'open', seen: true }]);
  expect(await engine.state(id)).toMatchObject({ status: 'dead_letter', attempts: 1 });
});

it('without a redrive policy SQS refuses a move task, and a redrive from the table works', async () => {
  const world = await openDeadLetterWorld(engine);
  const { deadLetterQueueUrl } = world.work;
  const [id] = (await world.die(1)) as [string];
  await removeRedrivePolicy(world, 'work');
  engine.runs.length = 0;

  const console = await world.moveTask().then(
    () => 'started',
    (error: Error) => error.message,
  );
  const operation = await startRedrive(engine.db, {});
  const moved = await stepRedrive(engine.db, operation, 1000);
  await world.workOff();
  await world.mirror();

  expect(console).toMatch(/dead letter queue/i);
  expect(moved?.done).toBe(1);
  expect(engine.runs).toEqual([id]);
  expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(await world.depth(deadLetterQueueUrl)).toEqual(EMPTY);
});
