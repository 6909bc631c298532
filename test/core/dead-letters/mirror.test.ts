import { expect, it } from 'vitest';
import { hastyTime } from '../../support/database-engine.ts';
import { openMirrorWorld } from './mirror-world.ts';

const world = await openMirrorWorld();
const { engine } = world;
const HOUR = 3600;

it('stores the message of a dead job and leaves it in the queue', async () => {
  const { id, body } = await world.dead();
  const [messageId] = await world.put(body);

  await world.mirror();

  const [row] = await world.rows();
  expect(row).toMatchObject({ job_id: id, status: 'open', message_id: messageId, seen: true, raw_body: null });
  expect(row?.queue_name).toBe(world.dlq.split('/').at(-1));
  expect(await world.bodies(world.dlq)).toEqual([body]);
});

it('records the delivery of a dead job without one, so that the first move task redrives it', async () => {
  const { id, body } = await world.dead();
  await engine.sql('update millrace.jobs_live set message_id = null, message_sent_at = null where id = $1', [id]);
  const [messageId] = await world.put(body);

  await world.mirror();

  expect(await engine.state(id)).toMatchObject({ status: 'dead_letter', message_id: messageId });
});

it('keeps a recorded delivery', async () => {
  const { id, body } = await world.dead();
  const { message_id: recorded } = await engine.state(id);
  await world.put(body);

  await world.mirror();

  expect(await engine.state(id)).toMatchObject({ message_id: recorded });
});

it.each([
  ['is redriven', (id: string) => engine.sql('select millrace.retry($1)', [id])],
  ['is discarded', (id: string) => engine.sql('delete from millrace.failed_jobs where job_id = $1', [id])],
  ['is pruned', (id: string) => engine.sql('delete from millrace.jobs_live where id = $1', [id])],
  [
    'died again',
    (id: string) => engine.sql('update millrace.jobs_live set claim_no = claim_no + 1 where id = $1', [id]),
  ],
])('deletes the message of a job that %s', async (_name, change) => {
  const { id, body } = await world.dead();
  await world.put(body);
  await change(id);

  await world.mirror();

  expect(await world.bodies(world.dlq)).toEqual([]);
  expect((await world.rows()).filter(({ seen }) => seen)).toEqual([]);
});

it('deletes the message of a job that succeeded', async () => {
  const { records } = await engine.deliver(1);
  await engine.run(records);
  await world.put(records[0]!.body);

  await world.mirror();

  expect(await world.bodies(world.dlq)).toEqual([]);
});

it('leaves the message of a running job, and stores it once the job is dead', async () => {
  let during: string[] = [];
  engine.work = async () => {
    await world.mirror();
    during = await world.bodies(world.dlq);
    throw new Error('no');
  };
  const { ids, records } = await engine.deliver(1);
  await world.put(records[0]!.body);
  await engine.run(records);
  await engine.advance(HOUR);

  await world.mirror();

  expect(during).toEqual([records[0]!.body]);
  expect(await world.rows()).toMatchObject([{ job_id: ids[0], status: 'open', seen: true }]);
});

it('releases a job whose message arrived without a start', async () => {
  const { ids, records } = await engine.deliver(1);
  await world.put(records[0]!.body);

  await world.mirror();
  await engine.rescue();

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'pending', attempts: 0, losses: 0 });
  expect(await world.bodies(world.dlq)).toEqual([]);
  expect(await world.rows()).toEqual([]);
});

it('leaves the message of an unstarted job whose row is locked', async () => {
  const { ids, records } = await engine.deliver(1);
  await world.put(records[0]!.body);
  const client = await engine.database.pool.connect();
  await client.query('begin');
  await client.query('select from millrace.jobs_live where id = $1 for update', [ids[0]]);

  await world.mirror();
  await client.query('rollback');
  client.release();

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'dispatched' });
  expect(await world.bodies(world.dlq)).toEqual([records[0]!.body]);
});

it('does not sweep while a move task runs', async () => {
  const { body } = await world.dead();
  await world.put(body, body, body);
  const { Attributes } = await world.sqs.getQueueAttributes({ QueueUrl: world.dlq, AttributeNames: ['QueueArn'] });
  await world.sqs.startMessageMoveTask({
    SourceArn: Attributes?.QueueArn,
    DestinationArn: Attributes?.QueueArn?.replace('-dlq', ''),
    MaxNumberOfMessagesPerSecond: 1,
  });

  await world.mirror();

  expect(world.logged('mirrored')).toEqual([]);
  expect((await world.rows()).filter(({ seen }) => seen)).toEqual([]);
});

it('reports a deleted queue, and mirrors the others', async () => {
  const { body } = await world.dead();
  await world.put(body);
  const lost = { job_type: 'lost', dead_letter_queue_url: 'http://127.0.0.1/0/lost-dlq' };
  await engine.sql(
    `insert into millrace.handlers select (h).* from
       (select jsonb_populate_record(h, $1::jsonb) as h from millrace.handlers h) x`,
    [JSON.stringify(lost)],
  );

  await world.mirror();
  await engine.sql(`delete from millrace.handlers where job_type = 'lost'`);

  expect(world.logged('dead_letter_queue_missing')).toMatchObject([{ queue: 'lost-dlq', level: 'error' }]);
  expect(await world.rows()).toMatchObject([{ seen: true }]);
});

it('makes its messages visible when the database fails', async () => {
  const { body } = await world.dead();
  await world.put(body);
  await engine.sql('alter table millrace.jobs_finished rename to elsewhere');

  await world.tryMirror();
  await engine.sql('alter table millrace.elsewhere rename to jobs_finished');
  const visible = await world.bodies(world.dlq);
  await world.tryMirror();

  expect(visible).toEqual([body]);
  expect(world.logged('mirror_failed')).toHaveLength(1);
  expect(await world.rows()).toMatchObject([{ seen: true }]);
});

it('sweeps a deep queue completely through the real client', async () => {
  await world.put(...Array.from({ length: 100 }, (_, n) => `junk ${n}`));

  await world.mirror(world.real);

  expect(await world.rows()).toHaveLength(100);
  expect(world.logged('mirrored')).toMatchObject([{ stray: 100 }]);
});

it('stops in time in an endless queue, and reports that it was not covered', async () => {
  const peek = async () => [{ messageId: `endless-${Math.random()}`, receiptHandle: 'x', body: 'junk', sentAt: 1 }];
  const describe = async () => ({ arn: 'arn:aws:sqs:us-east-1:0:endless', depth: 200_000, retentionSeconds: 60 });

  await world.tryMirror({ peek, describe, makeVisible: async () => undefined }, hastyTime);

  expect((await world.rows()).length).toBeGreaterThan(0);
  expect(world.logged('mirror_not_covered')).toMatchObject([{ depth: 200_000, level: 'warn' }]);
});
