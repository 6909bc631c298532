import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { enqueue } from 'millrace';
import { openTestDatabase } from 'millrace/testing';
import makeThumbnail from '../jobs/make-thumbnail.ts';
import { openFiles } from './files.ts';

const DAY_MS = 86_400_000;
/** The statements of the README, by their comments. */
const SQL = Object.fromEntries(
  [...readFileSync('README.md', 'utf8').matchAll(/^-- (.+)\n([^;]+);/gm)].map(([, name, text]) => [name, text]),
);

const files = await openFiles();
const now = new Date();
const database = await openTestDatabase({ handlers: [makeThumbnail], now: new Date(now.getTime() - 41 * DAY_MS) });
const run = <Row = Record<string, unknown>>(name: string) => database.query<Row>(SQL[name] ?? '');
const payload = (name: string) => ({ source: `${files.url}/${name}`, target: `${files.url}/small`, width: 8 });

/** Job 1 died 41 days ago. Job 2 was created 40 days ago, and its last attempt failed a few minutes ago. */
before(async () => {
  await enqueue(database, makeThumbnail, payload('old'));
  await database.drain();
  await database.setNow(new Date(now.getTime() - 40 * DAY_MS));
  await enqueue(database, makeThumbnail, payload('new'), { runAt: new Date(now.getTime() - 30 * 60_000) });
  await database.drain();
  await database.setNow(now);
});
after(async () => {
  await database.close();
  await files.close();
});

test('all lists both with attempts, last error and time of death', async () => {
  const { rows } = await run('all');

  const [old, recent] = rows;
  assert.equal(rows.length, 2);
  assert.partialDeepStrictEqual(old, { id: '1', attempts: 3, max_attempts: 3, job_type: 'make_thumbnail' });
  assert.partialDeepStrictEqual(recent, { id: '2', last_error: `GET ${files.url}/new returned 404` });
});

test('one row has the whole stack and the input', async () => {
  const { rows } = await run<{ error_stacktrace: string; input_data: unknown }>('the stack and the input of one');

  assert.match(rows[0]?.error_stacktrace ?? '', /^Error: GET .* returned 404\n {4}at .*make-thumbnail\.ts:\d+/);
  assert.deepEqual(rows[0]?.input_data, payload('new'));
});

test('the number of each type counts both', async () => {
  const { rows } = await run('the number of each type');

  assert.deepEqual(rows, [{ job_type: 'make_thumbnail', count: 2 }]);
});

test('a job that was created 40 days ago and has just died belongs to the last hour, by either column', async () => {
  const byUpdate = (SQL['the last hour'] ?? '').replace('created_at', 'updated_at');

  const found = [(await run('the last hour')).rows, (await database.query(byUpdate)).rows];

  const ages = 'select job_created_at < now() - interval $$39 days$$ as old from millrace.failed_jobs where id = 2';
  assert.deepEqual(found, [[{ id: '2' }], [{ id: '2' }]]);
  assert.deepEqual((await database.query(ages)).rows, [{ old: true }]);
});

test('an update of the status or of the attempts is refused with the function to call', async () => {
  for (const statement of [`update millrace.jobs set status = 'pending'`, 'update millrace.jobs set attempts = 0']) {
    const refused = database.query(statement);

    await assert.rejects(refused, ({ message, hint }: Error & { hint?: string }) => {
      return message.includes('changed by functions only') && (hint ?? '').includes('select millrace.retry(id)');
    });
  }
});

test('a delete of those older than 30 days archives the old job only', async () => {
  await run('archive');

  const jobs = await database.query('select status from millrace.jobs order by id');
  const letters = await database.query('select status from millrace.dead_letters order by id');
  assert.deepEqual(jobs.rows, [{ status: 'cancelled' }, { status: 'dead_letter' }]);
  assert.deepEqual(letters.rows, [{ status: 'discarded' }, { status: 'open' }]);
});

test('a requeued job has three new attempts, and succeeds when its source exists', async () => {
  files.contents.set('/new', readFileSync('meadow.jpg'));

  const { rows } = await run('requeue');
  const runs = await database.drain();

  assert.deepEqual(rows, [{ retry: 'redriven' }]);
  assert.deepEqual(
    runs.map(({ jobId, attempt, outcome }) => ({ jobId, attempt, outcome })),
    [{ jobId: '2', attempt: 1, outcome: 'succeeded' }],
  );
  assert.deepEqual((await run('all')).rows, []);
});

test('a source that is not an image is dead at once', async () => {
  files.contents.set('/text', Buffer.from('not an image'));
  await enqueue(database, makeThumbnail, payload('text'));

  const [one] = await database.drain();

  assert.partialDeepStrictEqual(one, { attempt: 1, outcome: 'dead_letter' });
  assert.match(one?.error?.message ?? '', /^the source is not an image: /);
});
