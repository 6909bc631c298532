import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { enqueue } from 'millrace';
import type { DrainedRun } from 'millrace/testing';
import scheduled from '../jobs/fetch-and-cache.scheduled.ts';
import exponential from '../jobs/fetch-and-cache.ts';
import sweepStalled from '../jobs/sweep-stalled.ts';
import { closeDatabase } from '../src/database.ts';
import { openWorld } from './world.ts';

const world = await openWorld();
const { database, server } = world;
beforeEach(() => world.reset());
after(() => world.close());

/** Lists the runs of a handler, as minutes and seconds after midnight. */
function times(runs: readonly DrainedRun[], { jobType }: { readonly jobType: string }): string[] {
  return runs.filter((run) => run.jobType === jobType).map(({ at }) => at.toISOString().slice(14, 19));
}

test('a joke is fetched every two minutes', async () => {
  const runs = await database.drain({ until: '8m' });

  assert.deepEqual(times(runs, scheduled), ['02:00', '04:00', '06:00', '08:00']);
  assert.equal(
    runs.every(({ outcome }) => outcome === 'succeeded'),
    true,
  );
});

test('the scheduled job has three tries, 2 s apart', async () => {
  server.mood = 500;

  const runs = await database.drain({ until: '2m' });

  assert.deepEqual(times(runs, scheduled), ['02:00', '02:02', '02:04']);
  assert.equal(runs.at(-1)?.outcome, 'dead_letter');
});

test('stalled jobs are swept every ten minutes', async () => {
  const runs = await database.drain({ until: '25m' });

  assert.deepEqual(times(runs, sweepStalled), ['10:00', '20:00']);
});

test('the sweep reports jobs that have been due for ten minutes', async () => {
  await database.deploy([sweepStalled]);
  await enqueue(database, exponential, {});
  await enqueue(database, exponential, {}, { delay: '15m' });

  const runs = await database.drain({ until: '20m' });
  await database.deploy(world.handlers);

  assert.deepEqual(
    runs.map(({ result }) => result),
    [{}, { fetch_and_cache: 1 }],
  );
  assert.partialDeepStrictEqual(runs[1]?.log, [{ level: 'warn', event: 'jobs_stalled', count: 1 }]);
});

test('the sweep has three tries, 5 s apart', async () => {
  await closeDatabase();
  // No server listens at the port of the address.
  process.env.DATABASE_URL = 'postgres://jokes@127.0.0.1:1/none';
  await enqueue(database, sweepStalled, {});

  const runs = await database.drain();
  await closeDatabase();

  assert.deepEqual(
    runs.map(({ nextDelaySeconds }) => nextDelaySeconds),
    [5, 5, null],
  );
});
