import { beforeEach, expect, it } from 'vitest';
import { type Variables, withVariables } from '../../../core/handler/variables.ts';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();
const fail = () => Promise.reject(new Error('no'));

async function deploy(variables: Variables): Promise<void> {
  const definition = withVariables(engine.definition, variables);
  const address = { queueUrl: QUEUE, deadLetterQueueUrl: `${QUEUE}-dlq`, functionName: 'work' };
  await registerHandlers({ db: engine.db, stage: 'local' }, [{ definition, ...address }]);
}

beforeEach(() => deploy({ MILLRACE_MAX_ATTEMPTS_work: '4', MILLRACE_RETRY_DELAY_work: '100' }));

it('a job keeps the number of attempts with which it was inserted', async () => {
  const before = await engine.enqueue();
  const stated = await engine.enqueue({ maxAttempts: 9 });

  await deploy({ MILLRACE_MAX_ATTEMPTS_work: '2' });
  const after = await engine.enqueue();

  const states = await Promise.all([before, stated, after].map(engine.state));
  expect(states.map((state) => state.max_attempts)).toEqual([4, 9, 2]);
});

it('an attempt uses the delay that is deployed when it starts', async () => {
  const { ids, records } = await engine.deliver(2);
  const [first, second] = records;
  engine.work = async () => {
    await deploy({ MILLRACE_RETRY_DELAY_work: '200' });
    throw new Error('no');
  };

  await engine.run([first!]);
  engine.work = fail;
  await engine.run([second!]);

  const states = await Promise.all(ids.map(engine.state));
  expect(states.map(({ due_in }) => Math.round(due_in! / 10) * 10)).toEqual([100, 200]);
});

it('a failed job keeps its time, and its next failure uses the new delay', async () => {
  const { ids, records } = await engine.deliver(1);
  engine.work = fail;
  await engine.run(records);

  await deploy({ MILLRACE_RETRY_DELAY_work: '200' });
  const kept = await engine.state(ids[0]!);
  await engine.advance(101);
  await engine.dispatch();
  await engine.run(engine.queues.receive(QUEUE));
  const next = await engine.state(ids[0]!);

  expect(kept.due_in).toBeGreaterThan(90);
  expect(kept.due_in).toBeLessThanOrEqual(100);
  expect(next.attempts).toBe(2);
  expect(next.due_in).toBeGreaterThan(190);
});

it('a rescue uses the delay that is deployed when it ends the claim', async () => {
  const { ids, records } = await engine.deliver(1);
  engine.work = () => new Promise(() => undefined);
  void engine.run(records);
  await expect.poll(() => engine.state(ids[0]!)).toMatchObject({ status: 'running' });

  await deploy({ MILLRACE_RETRY_DELAY_work: '500' });
  await engine.advance(3600);
  await engine.rescue();

  expect((await engine.state(ids[0]!)).due_in).toBeGreaterThan(490);
});
