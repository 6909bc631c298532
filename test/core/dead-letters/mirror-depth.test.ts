import { expect, it } from 'vitest';
import { openMirrorWorld } from './mirror-world.ts';

const world = await openMirrorWorld();
const { engine } = world;

it('does not sweep while the depth is unchanged, except after a quarter of an hour', async () => {
  const { body } = await world.dead();
  await world.put(body);
  await world.mirror();
  await world.mirror();
  const sweeps = world.logged('mirrored').length;

  await engine.advance(16 * 60);
  await world.mirror();

  expect(sweeps).toBe(1);
  expect(world.logged('mirrored')).toHaveLength(2);
});

it('sweeps at an unchanged depth after the clock was set back', async () => {
  const { body } = await world.dead();
  await world.put(body);
  await world.mirror();

  await engine.advance(-3600);
  await world.mirror();
  await world.mirror();

  expect(world.logged('mirrored')).toHaveLength(2);
});

it('sweeps at an unchanged depth when one dead letter was resolved and another message arrived', async () => {
  const first = await world.dead();
  await world.put(first.body);
  await world.mirror();
  await engine.sql('delete from millrace.failed_jobs where job_id = $1', [first.id]);
  await world.sqs.purgeQueue({ QueueUrl: world.dlq });
  const second = await world.dead();
  await world.put(second.body);

  await world.mirror();

  expect((await world.rows()).find(({ job_id }) => job_id === second.id)).toMatchObject({ seen: true });
});

it('sweeps as soon as a dead letter is redriven from the table, and deletes its message', async () => {
  const { id, body } = await world.dead();
  await world.put(body);
  await world.mirror();
  await engine.sql('select millrace.retry($1)', [id]);

  await world.mirror();

  expect(await world.bodies(world.dlq)).toEqual([]);
});
