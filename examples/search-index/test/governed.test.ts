import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { after, afterEach, test } from 'node:test';
import { defineHandler } from 'millrace';
import { openTestDatabase } from 'millrace/testing';
import { createApp } from '../app/server.ts';
import indexKeyword from '../jobs/index-record.keyword.ts';
import indexVector from '../jobs/index-record.vector.ts';
import { disconnect } from '../src/backend.ts';
import { keywordIndex, searchKeywords } from '../src/keyword-index.ts';
import { vectorIndex } from '../src/vector-index.ts';

const database = await openTestDatabase({ handlers: [indexKeyword, indexVector] });
process.env.DATABASE_URL = database.connectionString;
await database.query(readFileSync('schema.sql', 'utf8'));
const server = createApp().listen(0, '127.0.0.1');
await once(server, 'listening');

afterEach(async () => {
  delete process.env.VECTOR_INDEX_URL;
  await database.clear();
  await database.query('truncate records, keyword_index, vector_index');
});

after(async () => {
  server.close();
  await disconnect();
  await database.close();
});

// biome-ignore lint/suspicious/noExplicitAny: the tests compare its members.
async function call(path: string, body?: object): Promise<any> {
  const { port } = server.address() as AddressInfo;
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  assert.equal(response.status, 200);
  return response.json();
}

const save = (title: string, body: string) => call('/records', { title, body });

async function outcomes(): Promise<string[]> {
  const runs = await database.drain();
  return runs.map(({ routingKey, outcome }) => `${routingKey} ${outcome}`);
}

test('a record is fanned out to both indexes, and both find it', async () => {
  const tea = await save('Green tea', 'The leaves are steamed.');
  const trains = await save('Night trains', 'A train runs from Paris to Berlin.');

  assert.deepEqual(tea.jobs.length, 2);
  assert.deepEqual((await outcomes()).toSorted(), [
    ...['keyword succeeded', 'keyword succeeded'],
    ...['vector succeeded', 'vector succeeded'],
  ]);
  // Full text knows the forms of a word; a hashed term does not.
  const keywords = await call('/search/keyword?q=running');
  assert.deepEqual(
    keywords.map(({ id }: { id: string }) => id),
    [trains.id],
  );
  const vectors = await call('/search/vector?q=tea+leaves');
  assert.deepEqual(
    vectors.map(({ id, score }: { id: string; score: number }) => [id, score > 0.3]),
    [
      [tea.id, true],
      [trains.id, false],
    ],
  );
});

test('a record that was deleted leaves the indexes, and an old version replaces no later one', async () => {
  const { id } = await save('Green tea', 'Steamed.');
  await database.drain();
  await keywordIndex.write({ id, version: 3, title: 'Black tea', body: '' });
  await keywordIndex.write({ id, version: 2, title: 'White tea', body: '' });
  const found = [await searchKeywords('black'), await searchKeywords('white')].map(({ length }) => length);
  await database.query('delete from records');
  await database.query(`select millrace.enqueue('index_record', $1, routing_key => '*')`, [{ record: id }]);

  await database.drain();

  assert.deepEqual(found, [1, 0]);
  assert.deepEqual(await call('/search/keyword?q=tea'), []);
  assert.deepEqual(await call('/search/vector?q=tea'), []);
});

test('each key has its own number of retries, after min(30, 5ⁿ) seconds', async (t) => {
  for (const index of [keywordIndex, vectorIndex]) {
    t.mock.method(index, 'write', async () => {
      throw new Error('the index is corrupt');
    });
  }
  await save('Green tea', 'Steamed.');

  const runs = await database.drain();

  const delays = (key: string) => runs.filter((run) => run.routingKey === key).map((run) => run.nextDelaySeconds);
  assert.deepEqual(delays('keyword'), [5, 25, 30, null]);
  assert.deepEqual(delays('vector'), [5, 25, 30, 30, 30, null]);
});

test('the jobs of a backend that is down are skipped, and the other backend is not touched', async () => {
  process.env.VECTOR_INDEX_URL = 'postgres://127.0.0.1:1/search';
  const { id, jobs } = await save('Green tea', 'Steamed.');

  assert.deepEqual((await outcomes()).toSorted(), ['keyword succeeded', 'vector skipped']);
  assert.deepEqual(
    (await searchKeywords('tea')).map((hit) => hit.id),
    [id],
  );
  const text = 'select routing_key, status, attempts, last_error from millrace.jobs where id = any($1) order by 1';
  const { rows } = await database.query(text, [jobs]);
  assert.deepEqual(rows, [
    { routing_key: 'keyword', status: 'succeeded', attempts: 1, last_error: null },
    {
      ...{ routing_key: 'vector', status: 'skipped', attempts: 1 },
      last_error: 'the vector index is unavailable: connect ECONNREFUSED 127.0.0.1:1',
    },
  ]);
});

test('the limits of a key are validated, and it has no polling interval', () => {
  const faults: readonly [object, RegExp][] = [
    [{ batch: { size: 0 } }, /batch\.size: expected .* 1 to 10000, got 0/],
    [{ concurrency: 1 }, /concurrency: expected .* 2 to 1000, got 1/],
    [{ maxAttempts: 0 }, /maxAttempts: expected .* 1 to 1000, got 0/],
    [{ timeout: '1h' }, /timeout: expected .*880/],
    [{ pollInterval: '1s' }, /one dispatcher polls for all handlers: set MILLRACE_POLL_INTERVAL/],
  ];

  for (const [fault, message] of faults) {
    const { jobType, routingKey, payload, run } = indexVector;
    assert.throws(() => defineHandler({ jobType, routingKey, payload, run, ...fault }), message);
  }
});
