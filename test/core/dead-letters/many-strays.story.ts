import { expect, it } from 'vitest';
import { closeGoneStrays, storeSweep } from '../../../core/dead-letters/mirrored-queues.ts';
import { openMirrorWorld } from './mirror-world.ts';

const world = await openMirrorWorld();
const { engine } = world;
const HOUR = 3600;

it('stores a sweep first, and closes many strays in parts that later runs continue', async () => {
  const queue = { url: world.dlq, name: world.dlq.split('/').at(-1)!, retentionSeconds: 14 * 24 * HOUR };
  await engine.sql('delete from millrace.dead_letters');
  await engine.sql('insert into millrace.dead_letter_queues (queue_url) values ($1)', [world.dlq]);
  await engine.sql(
    `insert into millrace.dead_letters (queue_name, message_id, last_seen_at)
       select $1, n, millrace.clock() - case when n % 3 = 0 then interval '0' else interval '1 day' end
         from generate_series(1, 18000) n`,
    [queue.name],
  );
  const open = async () => (await engine.sql(`select from millrace.dead_letters where status = 'open'`)).length;
  const begunAt = new Date(Date.now() - HOUR * 1000);
  await storeSweep(engine.db, { ...queue, begunAt, complete: true, left: 6000 });
  await storeSweep(engine.db, { ...queue, begunAt, complete: true, left: 6000 });
  const afterSweep = await open();

  await closeGoneStrays(engine.db, queue, () => false);
  const afterOnePart = await open();
  await closeGoneStrays(engine.db, queue, () => true);

  expect([afterSweep, await open()]).toEqual([18_000, 6000]);
  expect(18_000 - afterOnePart).toBeGreaterThan(0);
  expect(18_000 - afterOnePart).toBeLessThanOrEqual(5000);
  const [stored] = await engine.sql('select seen, swept_at from millrace.dead_letter_queues where queue_url = $1', [
    world.dlq,
  ]);
  expect(stored).toMatchObject({ seen: '6000', swept_at: begunAt });
});

it('closes a queue full of strays after the second complete sweep, within one run of the mirror', async () => {
  const name = world.dlq.split('/').at(-1)!;
  await engine.sql(
    `insert into millrace.dead_letters (queue_name, message_id, last_seen_at)
       select $1, n, millrace.clock() - interval '1 day' from generate_series(1, 12000) n`,
    [name],
  );
  const [one] = await world.put('junk');
  await world.mirror();
  await engine.advance(HOUR);

  await world.mirror();

  expect(await engine.sql(`select message_id from millrace.dead_letters where status = 'open'`)).toEqual([
    { message_id: one },
  ]);
});
