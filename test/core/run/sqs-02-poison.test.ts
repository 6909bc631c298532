import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { openDeadLetterWorld } from '../dead-letters/dead-letter-world.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });

const POISON = [
  'not json',
  'null',
  '[]',
  '{"jobId":"abc"}',
  '{"jobId":"99999999"}',
  '{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2030-01-31T12:00:00.000Z","Bucket":"pictures"}',
];

it('SQS-02: six unreadable messages in a batch of ten hold up none of the four good jobs', async () => {
  const world = await openDeadLetterWorld(engine);
  const { queueUrl, deadLetterQueueUrl } = world.work;
  const [dead] = (await world.die(1)) as [string];
  const waiting = await engine.enqueue({ jobType: 'other' });
  await engine.sql("update millrace.jobs set run_at = millrace.clock() + interval '1 day' where id = $1", [waiting]);
  const readBystanders = () => engine.sql('select * from millrace.jobs where id in ($1, $2)', [dead, waiting]);
  const before = await readBystanders();
  engine.runs.length = 0;
  for (const body of POISON) await world.send(queueUrl, body);
  const good: string[] = [];
  for (let n = 0; n < 4; n++) good.push(await engine.enqueue());
  await world.dispatch();

  await world.handle('work', await world.receive(queueUrl, 10));
  const counts = await world.pump('work');
  await world.mirror();

  expect(engine.runs.toSorted()).toEqual(good.toSorted());
  for (const id of good) expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(counts).toEqual([2, 3, 4, 5].flatMap((n) => POISON.map(() => n)));
  expect(await world.depth(queueUrl)).toEqual({ visible: 0, hidden: 0 });
  expect(await world.depth(deadLetterQueueUrl)).toEqual({ visible: POISON.length + 1, hidden: 0 });
  const strays = (await world.rows()).filter(({ job_id }) => job_id === null);
  expect(strays.map(({ raw_body }) => raw_body).toSorted()).toEqual(POISON.toSorted());
  expect(strays.filter(({ status, message_id, seen }) => status !== 'open' || !message_id || !seen)).toEqual([]);
  expect(await readBystanders()).toEqual(before);
});
