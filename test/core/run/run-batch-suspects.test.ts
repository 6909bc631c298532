import { expect, it } from 'vitest';
import { crash } from '../../support/crash.ts';
import { hastyTime, openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

/** Jobs whose last attempt ended by rescue, sent again; the others of the batch are new. */
async function afterRescue(suspects: number, others: number) {
  const { ids, records } = await engine.deliver(suspects);
  await crash(engine, records);
  await engine.advance(3600);
  await engine.rescue();
  engine.queues.purge();
  await engine.advance(3600);
  engine.runs.length = 0;
  engine.work = () => undefined;
  const fresh: string[] = [];
  for (let n = 0; n < others; n++) fresh.push(await engine.enqueue());
  await engine.dispatch();
  return { suspects: ids, others: fresh };
}

const statuses = (ids: string[]) => Promise.all(ids.map(async (id) => (await engine.state(id)).status));

it('starts a suspect that is alone in its batch at once', async () => {
  const { suspects } = await afterRescue(1, 0);
  const before = await engine.state(suspects[0]!);

  const ran = await engine.run(engine.queues.receive(QUEUE));

  expect(before).toMatchObject({ suspect: true, attempts: 1, status: 'dispatched' });
  expect(ran.failed).toEqual([]);
  expect(await engine.state(suspects[0]!)).toMatchObject({ status: 'succeeded', attempts: 2 });
});

it('starts one suspect after the others are settled, and releases the remaining suspects unstarted', async () => {
  const { suspects, others } = await afterRescue(3, 2);
  const othersWhenSuspectRuns: string[] = [];
  engine.work = async ({ jobId }) => {
    if (suspects.includes(jobId)) othersWhenSuspectRuns.push(...(await statuses(others)));
  };

  await engine.run(engine.queues.receive(QUEUE));

  expect(othersWhenSuspectRuns).toEqual(['succeeded', 'succeeded']);
  expect(engine.runs.slice(2)).toHaveLength(1);
  expect((await statuses(suspects)).sort()).toEqual(['pending', 'pending', 'succeeded']);
  const attempts = await Promise.all(suspects.map(async (id) => (await engine.state(id)).attempts));
  expect(attempts.sort()).toEqual([1, 1, 2]);
});

it('does not treat a job as a suspect after an attempt that ended without a rescue', async () => {
  const { suspects } = await afterRescue(1, 0);
  engine.work = () => {
    throw new Error('an ordinary failure');
  };

  await engine.run(engine.queues.receive(QUEUE));

  expect(await engine.state(suspects[0]!)).toMatchObject({ status: 'failed', suspect: false, attempts: 2 });
});

it('starts no suspect when the time is too short for its timeout and the reserve', async () => {
  const { suspects, others } = await afterRescue(1, 2);
  let left = 60_000;
  engine.work = () => {
    left = 36_999;
  };

  await engine.run(engine.queues.receive(QUEUE), { remainingMs: () => left });

  expect(engine.runs.sort()).toEqual([...others].sort());
  expect(await engine.state(suspects[0]!)).toMatchObject({ attempts: 1 });
});

it('starts no suspect after a handler that overstayed', async () => {
  const { suspects, others } = await afterRescue(1, 1);
  engine.work = () => new Promise(() => undefined);

  const ran = await engine.run(engine.queues.receive(QUEUE), { deps: { time: hastyTime } });

  expect(ran.exited).toBe(true);
  expect(engine.runs).toEqual(others);
  expect(await engine.state(suspects[0]!)).toMatchObject({ attempts: 1 });
});

it('starts a suspect first at its third receive, after releasing the others', async () => {
  const { suspects, others } = await afterRescue(2, 3);
  for (const _receive of [1, 2]) {
    engine.queues.receive(QUEUE);
    engine.queues.showAll();
  }
  const othersWhenSuspectRuns: string[] = [];
  engine.work = async () => {
    othersWhenSuspectRuns.push(...(await statuses(others)));
  };

  const ran = await engine.run(engine.queues.receive(QUEUE));

  expect(ran.failed).toEqual([]);
  expect(engine.runs).toHaveLength(1);
  expect(suspects).toContain(engine.runs[0]);
  expect(othersWhenSuspectRuns).toEqual(['pending', 'pending', 'pending']);
  const attempts = await Promise.all(others.map(async (id) => (await engine.state(id)).attempts));
  expect(attempts).toEqual([0, 0, 0]);
});

it('starts every suspect even if the other jobs of its batch always leave too little time', async () => {
  const { suspects } = await afterRescue(3, 3);
  let left = 60_000;
  engine.work = () => {
    left = 36_999;
  };

  let rounds = 0;
  for (; rounds < 40 && (await statuses(suspects)).some((status) => status !== 'succeeded'); rounds++) {
    await engine.enqueue();
    await engine.dispatch();
    left = 60_000;
    await engine.run(engine.queues.receive(QUEUE), { remainingMs: () => left });
  }

  expect(await statuses(suspects)).toEqual(['succeeded', 'succeeded', 'succeeded']);
  expect(engine.queues.deadBodies(QUEUE)).toEqual([]);
});

it('starts a suspect even with a copy of its message in the batch', async () => {
  const { suspects } = await afterRescue(1, 0);
  const [claim] = await Promise.all(suspects.map(async (id) => (await engine.state(id)).claim_no!));
  engine.queues.put(QUEUE, engine.body(suspects[0]!, claim!));
  for (const _receive of [1, 2]) {
    engine.queues.receive(QUEUE);
    engine.queues.showAll();
  }

  await engine.run(engine.queues.receive(QUEUE));

  expect(await statuses(suspects)).toEqual(['succeeded']);
});
