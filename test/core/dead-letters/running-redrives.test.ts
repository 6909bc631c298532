import { expect, it } from 'vitest';
import { startRedrive, stepRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { nextOperations } from '../../../core/operations/running-operations.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

it('the dispatcher reads the running redrives without their filters', async () => {
  const id = await startRedrive(engine.db, { jobTypes: Array.from({ length: 1000 }, (_, n) => `type_${n}`) });

  const running = await nextOperations(engine.db, 20);

  expect(running).toEqual([{ id, kind: 'redrive', ratePerSecond: null, done: 0, requestedBy: expect.any(String) }]);
});

/** Enqueues jobs that are dead, starts a redrive at ten jobs a second, and makes its first step after a second. */
async function redriveSome(rate: number): Promise<string> {
  await engine.sql(
    `insert into millrace.jobs_live (job_type, max_attempts) select 'work', 5 from generate_series(1, 30)`,
  );
  await engine.sql(`select millrace.die(array_agg(id), null, array_agg('lost'::text)) from millrace.jobs_live`);
  const id = await startRedrive(engine.db, { jobTypes: ['work'] }, { rate });
  await engine.advance(1);
  expect(await stepRedrive(engine.db, id, 1000)).toMatchObject({ done: 10 });
  return id;
}

it.each([
  ['by an hour', 3600],
  ['by a second', 1],
])('a redrive with a rate continues at its rate after the clock was set back %s', async (_time, seconds) => {
  const id = await redriveSome(10);
  await engine.advance(-seconds);

  expect(await stepRedrive(engine.db, id, 1000)).toMatchObject({ done: 10 });
  await engine.advance(1);

  expect(await stepRedrive(engine.db, id, 1000)).toMatchObject({ done: 20, status: 'running' });
});

it('a redrive continues after a step of another dispatcher whose statement began later', async () => {
  const id = await redriveSome(10);
  await engine.sql(`update millrace.operations set stepped_at = millrace.clock() + interval '200 milliseconds'`);

  expect(await stepRedrive(engine.db, id, 1000)).toMatchObject({ done: 10, status: 'running' });
});
