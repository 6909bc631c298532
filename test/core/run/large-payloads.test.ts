import { expect, it } from 'vitest';
import { systemTime } from '../../../core/time.ts';
import { hastyTime, openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();
const large = { text: 'x'.repeat(900_000) };

it('runs the jobs of a batch only as far as 2 MiB of payloads fit together', async () => {
  const { ids, records } = await engine.deliver(7, { payload: large });
  let inside = 0;
  let most = 0;
  engine.work = async () => {
    most = Math.max(most, ++inside);
    await systemTime.sleep(20);
    inside--;
  };

  await engine.run(records);

  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(most).toBe(2);
  expect(states.map(({ status }) => status)).toEqual(Array(7).fill('succeeded'));
});

it('leaves the jobs that have no time left due, without using an attempt', async () => {
  const { ids, records } = await engine.deliver(4, { payload: large });
  let remainingMs = 60_000;
  engine.work = async () => {
    remainingMs = 6_000;
  };

  await engine.run(records, { remainingMs: () => remainingMs });

  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(states.map(({ status, attempts }) => [status, attempts])).toEqual([
    ['succeeded', 1],
    ['succeeded', 1],
    ['pending', 0],
    ['pending', 0],
  ]);
});

it('runs the others beside a job that never ends', async () => {
  const { ids, records } = await engine.deliver(4, { payload: large });
  engine.work = ({ jobId }) => (jobId === ids[0] ? new Promise(() => undefined) : undefined);

  const { exited } = await engine.run(records, { deps: { time: hastyTime } });

  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(exited).toBe(true);
  expect(states.map(({ status }) => status)).toEqual(['failed', 'succeeded', 'succeeded', 'succeeded']);
});
