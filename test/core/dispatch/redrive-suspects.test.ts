import { expect, it } from 'vitest';
import { crash } from '../../support/crash.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });

/** Jobs that died because their process was killed: which of them killed it, nobody knows. */
async function dieTogether(count: number): Promise<string[]> {
  const { ids, records } = await engine.deliver(count);
  await crash(engine, records);
  await engine.advance(3600);
  await engine.rescue();
  engine.runs.length = 0;
  return ids;
}

const doors = [
  ['the table', (ids: string[]) => redriveTable(ids)],
  [
    'millrace.retry',
    (ids: string[]) => engine.sql('select millrace.retry(i::bigint) from unnest($1::text[]) i', [ids]),
  ],
  ['a move task', () => redriveQueue()],
] as const;

async function redriveTable(ids: string[]): Promise<void> {
  const claims = ids.map(() => null);
  await engine.sql('select millrace.redrive($1::bigint[], $2::bigint[], $3)', [ids, claims, 'test']);
}

/** Lets the messages bounce into the dead-letter queue, and brings them back as new ones. */
async function redriveQueue(): Promise<void> {
  engine.queues.showAll();
  const copies = engine.queues.receive(QUEUE).map(({ body }) => body);
  engine.queues.purge();
  for (const body of copies) engine.queues.put(QUEUE, body);
  await engine.run(engine.queues.receive(QUEUE));
}

it.each(doors)('redriven by %s, what may have killed its process starts alone', async (_door, redrive) => {
  const dead = await dieTogether(2);
  const before = await Promise.all(dead.map((id) => engine.state(id)));
  await redrive(dead);
  engine.queues.purge();
  const mate = await engine.enqueue();
  await engine.dispatch();
  const mateWhenSuspectRuns: string[] = [];
  engine.work = async ({ jobId }) => {
    if (jobId !== mate) mateWhenSuspectRuns.push((await engine.state(mate)).status);
  };

  await engine.run(engine.queues.receive(QUEUE));

  expect(before.map(({ status }) => status)).toEqual(['dead_letter', 'dead_letter']);
  expect(engine.runs).toHaveLength(2);
  expect(engine.runs[0]).toBe(mate);
  expect(mateWhenSuspectRuns).toEqual(['succeeded']);
});
