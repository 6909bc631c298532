import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { enqueue } from 'millrace';
import { openTestDatabase } from 'millrace/testing';
import deliverEvent from '../jobs/deliver-event.ts';
import { openReceiver } from './receiver.ts';

const START = new Date('2027-01-31T00:00:00Z');

const receiver = await openReceiver();
const database = await openTestDatabase({ handlers: [deliverEvent], now: START });
const failing = { url: `${receiver.url}/500`, name: 'order.paid', data: { order: 'A-17' } };
afterEach(() => database.clear());
after(async () => {
  await database.close();
  receiver.close();
});

test('five attempts follow after 1 min, 5 min, 30 min and 2 h; then the job is dead', async () => {
  await enqueue(database, deliverEvent, failing);

  const runs = await database.drain();

  assert.deepEqual(
    runs.map(({ attempt, outcome, nextDelaySeconds }) => [attempt, outcome, nextDelaySeconds]),
    [
      [1, 'failed', 60],
      [2, 'failed', 300],
      [3, 'failed', 1_800],
      [4, 'failed', 7_200],
      [5, 'dead_letter', null],
    ],
  );
});

test('with max_attempts 6, the sixth attempt follows after 12 h', async () => {
  await enqueue(database, deliverEvent, failing, { maxAttempts: 6 });

  const runs = await database.drain();

  assert.deepEqual(
    runs.map(({ nextDelaySeconds }) => nextDelaySeconds),
    [60, 300, 1_800, 7_200, 43_200, null],
  );
});

test('a failed job has its attempts, max_attempts, last error and the time of the next attempt', async () => {
  await enqueue(database, deliverEvent, failing);

  await database.drain({ until: '30s' });

  const { rows } = await database.query(
    'select status, attempts, max_attempts, last_error, next_retry_at from millrace.jobs',
  );
  const next_retry_at = new Date('2027-01-31T00:01:00Z');
  const last_error = `POST ${receiver.url}/500 returned 500`;
  assert.deepEqual(rows, [{ status: 'failed', attempts: 1, max_attempts: 5, last_error, next_retry_at }]);
});

test('a pending job and a failed job that is due are both taken', async () => {
  await enqueue(database, deliverEvent, failing);
  await database.drain({ until: '30s' });
  await enqueue(database, deliverEvent, { ...failing, url: `${receiver.url}/200` }, { delay: '30s' });

  const runs = await database.drain({ until: '30s' });

  assert.deepEqual(runs.map(({ attempt, outcome }) => [attempt, outcome]).toSorted(), [
    [1, 'succeeded'],
    [2, 'failed'],
  ]);
});

test('a dead job is in failed_jobs with its last error, stack and input', async () => {
  await enqueue(database, deliverEvent, failing, { maxAttempts: 1 });

  await database.drain();

  const { rows } = await database.query(
    'select status, attempts, last_error, error_stacktrace, input_data from millrace.failed_jobs',
  );
  const [{ error_stacktrace, ...dead }] = rows as [{ error_stacktrace: string }];
  const last_error = `POST ${receiver.url}/500 returned 500`;
  assert.deepEqual(dead, { status: 'dead_letter', attempts: 1, last_error, input_data: failing });
  assert.match(error_stacktrace, /at postEvent/);
});
