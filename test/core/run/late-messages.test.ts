import { expect, it } from 'vitest';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

/** Sends a job whose message waits until its lease has expired, while a job that was dispatched later starts. */
async function loseOnce(id: string): Promise<void> {
  await engine.dispatch();
  // The message stays in the queue: this one receives only those that it has just sent.
  const waiting = engine.queues.receive(QUEUE, 100);
  const later = await engine.deliver(1);
  await engine.run(later.records);
  await engine.advance(10_000);
  await engine.rescue();
  late.push(...waiting);
  expect(waiting.some(({ body }) => body.includes(`"job":"${id}"`))).toBe(true);
}

const late: ReturnType<typeof engine.queues.receive> = [];

async function lost(times: number): Promise<string> {
  late.length = 0;
  const id = await engine.enqueue();
  for (let loss = 1; loss <= times; loss++) await loseOnce(id);
  expect(await engine.state(id)).toMatchObject({ status: 'pending', losses: times });
  return id;
}

it('keeps a job alive whose messages all arrive after their leases, in a slow queue without order', async () => {
  const id = await engine.enqueue();
  for (let round = 1; round <= 12; round++) {
    late.length = 0;
    await loseOnce(id);
    await engine.run(late);
  }

  expect(await engine.state(id)).toMatchObject({ status: 'pending', attempts: 0, losses: 0 });
});

it('forgets the losses of a job that is dispatched again when an earlier message of it arrives', async () => {
  const id = await lost(3);
  await engine.dispatch();

  const { failed } = await engine.run(late);

  expect(failed).toEqual([]);
  expect(await engine.state(id)).toMatchObject({ status: 'dispatched', attempts: 0, losses: 0 });
});

it('counts on after a message with a later claim or another epoch, which proves nothing', async () => {
  const id = await lost(2);
  engine.queues.put(QUEUE, engine.body(id, '999999'));
  engine.queues.put(QUEUE, engine.body(id, '1', 'another'));

  await engine.run(engine.queues.receive(QUEUE, 10));

  expect(await engine.state(id)).toMatchObject({ status: 'pending', losses: 2 });
});

it('acknowledges a late message of a job whose row another transaction has locked, without waiting', async () => {
  const id = await lost(1);
  const other = await createClient(engine.database.url);
  await other.query('begin');
  await other.query('select from millrace.jobs_live where id = $1 for update', [id]);

  const { failed } = await engine.run(late);

  expect(failed).toEqual([]);
  expect(await engine.state(id)).toMatchObject({ losses: 1 });
});
