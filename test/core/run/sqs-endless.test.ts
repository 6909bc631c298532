import { expect, it } from 'vitest';
import { hastyTime, openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine({ timeout: '3s' });
const never = () => new Promise(() => undefined);

it('SQS-06: a handler that never ends times out, and the other jobs of its batch continue', async () => {
  const { ids, records } = await engine.deliver(5);
  engine.work = ({ jobId }) => (jobId === ids[2] ? never() : 'done');

  const ran = await engine.run(records, { deps: { time: hastyTime } });

  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(states.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'failed', 'succeeded', 'succeeded']);
  expect(states[2]).toMatchObject({ attempts: 1, last_error: 'timed out after 3 s' });
  expect(ran).toMatchObject({ failed: [], exited: true });
});

it('SQS-06: a job whose handler never ends is dead after its last attempt, and frees every slot', async () => {
  const id = await engine.enqueue({ maxAttempts: 3 });
  engine.work = never;

  for (let attempt = 1; attempt <= 5; attempt++) {
    await engine.dispatch();
    await engine.run(engine.queues.receive(QUEUE), { deps: { time: hastyTime } });
    await engine.advance(100);
  }

  expect(engine.runs).toEqual([id, id, id]);
  expect(await engine.state(id)).toMatchObject({
    status: 'dead_letter',
    attempts: 3,
    last_error: 'timed out after 3 s',
  });
});

it('SQS-06: the later work of a handler that overstayed changes nothing', async () => {
  const { ids, records } = await engine.deliver(1);
  let late = (): void => undefined;
  engine.work = () =>
    new Promise<void>((resolve) => {
      late = resolve;
    });
  await engine.run(records, { deps: { time: hastyTime } });
  const before = await engine.state(ids[0]!);

  late();
  await engine.rescue();

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'failed', attempts: 1, updated_at: before.updated_at });
});
