import { expect, it } from 'vitest';
import { QUEUE } from '../../support/database-engine.ts';
import { openMirrorWorld } from './mirror-world.ts';

const world = await openMirrorWorld();
const { engine } = world;
const HOUR = 3600;

/** Two complete sweeps, an hour and two hours from now. */
async function twoSweeps(change?: Parameters<typeof world.mirror>[0]): Promise<void> {
  for (let n = 0; n < 2; n++) {
    await engine.advance(HOUR);
    await world.mirror(change);
  }
}

it('sends a carrier for a dead job whose message is missing, and its handler refuses it unrun', async () => {
  const { id, body } = await world.dead();
  const before = await engine.state(id);

  await twoSweeps();

  const [carrier] = engine.queues.bodies(QUEUE);
  const after = await engine.state(id);
  expect(Number(after.claim_no)).toBeGreaterThan(Number(before.claim_no));
  expect(after).toMatchObject({ status: 'dead_letter', message_id: null, attempts: 1 });
  expect(carrier).toBe(engine.body(id, after.claim_no!));
  engine.runs.length = 0;
  for (let n = 0; n < 6; n++) {
    engine.queues.showAll();
    const records = engine.queues.receive(QUEUE);
    if (records.length > 0) await engine.run(records);
  }
  expect(engine.queues.deadBodies(QUEUE)).toEqual([carrier]);
  expect(engine.runs).toEqual([]);
  expect(await engine.state(id)).toMatchObject({ status: 'dead_letter', attempts: 1 });
  expect(body).not.toBe(carrier);
});

it('sends none twice while the first may still be on its way', async () => {
  await world.dead();
  await twoSweeps();

  await world.mirror();
  await engine.advance(20 * 60);
  await world.mirror();

  expect(engine.queues.bodies(QUEUE)).toHaveLength(1);
});

it('sends another when the first is missing in its turn', async () => {
  await world.dead();
  await twoSweeps();

  await twoSweeps();

  expect(engine.queues.bodies(QUEUE)).toHaveLength(2);
  expect(world.logged('carriers_sent')).toHaveLength(2);
});

it('takes a late original for stale', async () => {
  const { id, body } = await world.dead();
  await twoSweeps();
  const carried = await engine.state(id);
  await world.put(body);
  engine.queues.purge();
  engine.queues.put(QUEUE, body);

  const ran = await engine.run(engine.queues.receive(QUEUE));
  await engine.advance(HOUR);
  await world.mirror();

  expect(ran.failed).toEqual([]);
  expect(await world.bodies(world.dlq)).toEqual([]);
  expect(await engine.state(id)).toMatchObject({ status: 'dead_letter', claim_no: carried.claim_no });
});

it.each([
  ['the message was seen', async (body: string) => void (await world.put(body)), {}],
  ['not everything was seen', async () => undefined, { describe: deeper }],
  ['move tasks cannot be known', async () => undefined, { moveTasks: () => Promise.reject(new Error('no right')) }],
])('sends none when %s', async (_name, prepare, change) => {
  const { id, body } = await world.dead();
  const before = await engine.state(id);
  await prepare(body);

  await twoSweeps(change);
  await world.mirror(change);

  expect(engine.queues.bodies(QUEUE)).toEqual([]);
  expect(await engine.state(id)).toMatchObject({ claim_no: before.claim_no });
});

async function deeper() {
  return { arn: 'arn:aws:sqs:us-east-1:000000000000:x', depth: 5, retentionSeconds: 60 };
}

it('sends none before the message can have arrived', async () => {
  await world.dead();

  for (let n = 0; n < 3; n++) {
    await engine.advance(60);
    await world.mirror();
  }

  expect(engine.queues.bodies(QUEUE)).toEqual([]);
});

it.each([
  ['sends none soon after a move task: what it took is on its way', 1, 0],
  ['minds no move task that took nothing', 0, 1],
])('%s', async (_name, moved, carriers) => {
  const { body } = await world.dead();
  await world.put(body);
  await engine.advance(HOUR);
  await world.mirror();
  await world.sqs.purgeQueue({ QueueUrl: world.dlq });
  const startedAt = await engine.sql<{ at: Date }>(`select millrace.clock() + interval '2 hours' as at`);
  const task = { handle: undefined, status: 'COMPLETED', moved, toMove: moved, failureReason: undefined } as const;

  await twoSweeps({ moveTasks: async () => [{ ...task, startedAt: startedAt[0]!.at }] });

  expect(engine.queues.bodies(QUEUE)).toHaveLength(carriers);
});

it('gives a dead job that never had a handler one, as soon as there is a handler', async () => {
  const id = await engine.enqueue({ jobType: 'late' });
  await engine.sql(
    `with dead as (update millrace.jobs_live set status = 'dead_letter' where id = $1 returning id, job_type)
     insert into millrace.dead_letters (job_id, job_type, routing_key, last_error)
       select id, job_type, '', 'no handler for late' from dead`,
    [id],
  );
  await twoSweeps();
  const without = engine.queues.bodies(QUEUE);

  await engine.sql(`update millrace.handlers set job_type = 'late'`);
  await twoSweeps();
  await engine.sql(`update millrace.handlers set job_type = 'work'`);

  expect(without).toEqual([]);
  expect(engine.queues.bodies(QUEUE)).toHaveLength(1);
});
