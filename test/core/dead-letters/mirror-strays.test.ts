import { expect, it } from 'vitest';
import { createClient } from '../../support/database.ts';
import { openMirrorWorld } from './mirror-world.ts';

const world = await openMirrorWorld();
const { engine } = world;
const HOUR = 3600;

it.each([
  ['not json', () => 'not json', 'not a Millrace message'],
  ['a megabyte of junk', () => '\u{1f480}'.repeat(262_144), 'not a Millrace message'],
  ['an S3 test event', () => '{"Service":"Amazon S3","Event":"s3:TestEvent"}', 'not a Millrace message'],
  ['another epoch', () => engine.body('1', '1', 'other'), 'another database'],
  ['an id that was never issued', () => engine.body('999999999', '1'), 'never enqueued'],
])('stores a stray with its body and changes no job: %s', async (_name, make, reason) => {
  const body = make();
  const [messageId] = await world.put(body);

  await world.mirror();
  await engine.advance(HOUR);
  await world.mirror();

  const rows = await world.rows();
  expect(rows).toMatchObject([{ job_id: null, status: 'open', message_id: messageId, raw_body: body }]);
  expect(rows[0]?.last_error).toContain(reason);
  expect(await world.bodies(world.dlq)).toEqual([body]);
});

it('stores a message with an unknown claim as a stray, and does not change the job', async () => {
  const { id } = await world.dead();
  const before = await engine.state(id);
  await world.put(engine.body(id, '9999999'));

  await world.mirror();

  expect(await engine.state(id)).toEqual(before);
  expect((await world.rows()).find(({ job_id }) => job_id === null)).toMatchObject({ status: 'open' });
});

it('deletes the message of a discarded stray', async () => {
  await world.put('junk');
  await world.mirror();
  await engine.sql('delete from millrace.failed_jobs');
  await engine.advance(HOUR);

  await world.mirror();
  await engine.advance(HOUR);
  await world.mirror();

  expect(await world.bodies(world.dlq)).toEqual([]);
  expect(await world.rows()).toMatchObject([{ status: 'discarded' }]);
});

it.each([
  ['deletes the failed job', 'delete from millrace.failed_jobs where job_id is null'],
  ['deletes the row', 'delete from millrace.dead_letters where job_id is null'],
  ['changes the row', `update millrace.dead_letters set resolution = 'x' where job_id is null`],
  ['locks the row', 'select from millrace.dead_letters where job_id is null for update'],
])('does not wait for an open transaction that %s of a stray', async (_what, statement) => {
  await world.put('junk');
  await world.mirror();
  await engine.advance(HOUR);
  const holder = await createClient(engine.database.url);
  await holder.query('begin');
  await holder.query(statement);
  await world.put('more junk');

  await world.mirror();

  const bodies = (await world.rows()).map(({ raw_body }) => raw_body);
  expect(bodies.toSorted()).toEqual(['junk', 'more junk']);
  await holder.query('rollback');
});

it.each([
  ['after a manual deletion', 'expired', /deleted or purged/, HOUR],
  ['after its retention', 'expired', /keeps a message no longer/, 15 * 24 * HOUR],
])('closes a stray that left the queue %s', async (_name, status, resolution, later) => {
  await world.put('junk');
  await world.mirror();
  await world.sqs.purgeQueue({ QueueUrl: world.dlq });

  await engine.advance(later);
  await world.mirror();
  const afterOne = await world.rows();
  await engine.advance(HOUR);
  await world.mirror();

  expect(afterOne).toMatchObject([{ status: 'open' }]);
  expect(await world.rows()).toMatchObject([{ status, resolution: expect.stringMatching(resolution) }]);
});
