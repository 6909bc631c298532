import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { enqueue, retry } from 'millrace';
import { type DrainedRun, runHandler } from 'millrace/testing';
import { startJokeServer } from '../app/joke-server.ts';
import linear from '../jobs/fetch-and-cache.linear.ts';
import scheduled from '../jobs/fetch-and-cache.scheduled.ts';
import exponential from '../jobs/fetch-and-cache.ts';
import { TEMPORARY } from '../src/fetch-joke.ts';
import { openWorld } from './world.ts';

const world = await openWorld();
const { database, server, settings } = world;
beforeEach(() => world.reset());
after(() => world.close());

const delays = (runs: readonly DrainedRun[]) => runs.map(({ nextDelaySeconds }) => nextDelaySeconds);
const outcomes = (runs: readonly DrainedRun[]) => runs.map(({ outcome }) => outcome);

/** Returns an address at which no server listens. */
async function wrongUrl(): Promise<string> {
  const closed = await startJokeServer(0);
  closed.close();
  return closed.url;
}

test('a wrong URL gives five tries, after 2, 4, 8 and 16 s', async () => {
  settings.API_BASE_URL = await wrongUrl();
  await enqueue(database, exponential, {});

  const runs = await database.drain();

  assert.deepEqual(delays(runs), [2, 4, 8, 16, null]);
  assert.deepEqual(outcomes(runs), ['failed', 'failed', 'failed', 'failed', 'dead_letter']);
});

test('the linear policy waits 2, 4, 6 and 8 s', async () => {
  settings.API_BASE_URL = await wrongUrl();
  await enqueue(database, linear, {});

  assert.deepEqual(delays(await database.drain()), [2, 4, 6, 8, null]);
});

test('the delays of both policies are capped at 300 s', () => {
  const last = (policy: Parameters<typeof retry.preview>[0]) => retry.preview(policy, 200).at(-1)?.delay;

  assert.deepEqual([last(exponential.retry), last(linear.retry)], [300, 300]);
});

test('a client timeout of 1 ms is retried', async () => {
  server.mood = 'silent';
  await enqueue(database, exponential, { timeoutMs: 1 }, { maxAttempts: 2 });

  const runs = await database.drain();

  assert.deepEqual(outcomes(runs), ['failed', 'dead_letter']);
  assert.deepEqual(
    runs.map(({ error }) => error?.name),
    ['TimeoutError', 'TimeoutError'],
  );
});

test('an error of the server is retried, and an unlisted one is dead at once', async () => {
  server.mood = 503;
  const busy = await runHandler(exponential, {}, { settings });
  server.mood = 404;
  const missing = await runHandler(exponential, {}, { settings });

  assert.deepEqual([busy.outcome, missing.outcome], ['failed', 'dead_letter']);
});

test('a TypeError of the handler is dead at once, although that of a failed connection is retried', async () => {
  server.mood = 'empty';
  const own = await runHandler(exponential, {}, { settings });
  settings.API_BASE_URL = await wrongUrl();
  const connection = await runHandler(exponential, {}, { settings });

  assert.deepEqual([own.error?.name, own.outcome], ['TypeError', 'dead_letter']);
  assert.deepEqual([connection.error?.name, connection.outcome], ['TypeError', 'failed']);
  assert.equal(TEMPORARY.includes('TypeError'), false);
});

test('two fetches of one joke leave one row, with the newer time', async () => {
  const times = 'select id, fetched_at from jokes order by id';
  for (const _ of [1, 2]) await runHandler(scheduled, {}, { settings });
  const { rows: before } = await database.query<{ id: number; fetched_at: Date }>(times);

  // The server has two jokes, and begins again.
  await runHandler(scheduled, {}, { settings });

  const { rows } = await database.query<{ id: number; fetched_at: Date }>(times);
  assert.deepEqual(
    rows.map(({ id }) => id),
    [0, 1],
  );
  const isNewer = rows.map(({ fetched_at }, index) => fetched_at > (before[index]?.fetched_at ?? fetched_at));
  assert.deepEqual(isNewer.toSorted(), [false, true]);
});
