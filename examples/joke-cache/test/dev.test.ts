import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { end, listen, startJokeServer } from '../app/joke-server.ts';
import { createApp } from '../app/tasks.ts';

// Written by `npm run dev`, which must be running, without `npm run app`.
const { apiUrl, databaseUrl } = JSON.parse(readFileSync('.millrace/dev.json', 'utf8'));
const { port } = new URL(/^API_BASE_URL=(.*)$/m.exec(readFileSync('.env', 'utf8'))?.[1] ?? '');
const database = new pg.Pool({ connectionString: databaseUrl });
const app = createApp({ url: apiUrl, key: 'local' });
const url = await listen(app, 0);
after(async () => {
  await database.end();
  end(app);
});

interface Shown {
  readonly status: string;
  readonly attempts: number;
  readonly result: { readonly joke: number } | null;
  readonly deferrals: readonly object[];
}

/** Returns a job of the app as soon as it satisfies the condition. */
async function untilShown(id: string, isDone: (job: Shown) => boolean): Promise<Shown> {
  for (;;) {
    const job = (await (await fetch(`${url}/jobs/${id}`)).json()) as Shown;
    if (isDone(job)) return job;
    await sleep(100);
  }
}

test('POST /tasks/fetch-joke enqueues a job that stores a joke, and GET /jobs/:id lists its deferrals', async () => {
  const response = await fetch(`${url}/tasks/fetch-joke`, { method: 'POST' });
  const { id } = (await response.json()) as { id: string };
  const deferred = await untilShown(id, ({ deferrals }) => deferrals.length > 0);
  const jokes = await startJokeServer(Number(port));
  const done = await untilShown(id, ({ status }) => status === 'succeeded');
  jokes.close();

  assert.equal(response.status, 202);
  const reason = `fetch failed: connect ECONNREFUSED 127.0.0.1:${port}`;
  assert.partialDeepStrictEqual(deferred.deferrals[0], { attempt: 1, reason, delay_seconds: 2 });
  assert.ok(done.attempts >= 2);
  assert.equal(done.deferrals.length, done.attempts - 1);
  const { rows } = await database.query('select id from jokes where id = $1', [done.result?.joke]);
  assert.equal(rows.length, 1);
});

test('the app answers 404 for other addresses, and 502 without the API', async () => {
  const gone = createServer();
  const closed = await listen(gone, 0);
  end(gone);
  const without = createApp({ url: closed, key: 'local' });
  const other = await listen(without, 0);

  const statuses = [await fetch(`${url}/jokes`), await fetch(`${other}/jobs/1`)].map(({ status }) => status);
  end(without);

  assert.deepEqual(statuses, [404, 502]);
});
