import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { JobEnded, openClient } from 'millrace';
import pg from 'pg';
import sharp from 'sharp';
import makeThumbnail from '../jobs/make-thumbnail.ts';

// Written by `npm run dev`, which must be running.
const { apiUrl, databaseUrl, filesUrl } = JSON.parse(readFileSync('.millrace/dev.json', 'utf8'));
const client = openClient({ url: apiUrl, key: 'local' });
const database = new pg.Pool({ connectionString: databaseUrl });
after(() => database.end());

const addresses = (name: string) => ({ source: `${filesUrl}/${name}.jpg`, target: `${filesUrl}/${name}-small.jpg` });

test('a thumbnail has the requested width', async () => {
  const { source, target } = addresses('meadow');
  await fetch(source, { method: 'PUT', body: readFileSync('meadow.jpg') });

  const job = await client.enqueue(makeThumbnail, { source, target, width: 160 });
  const result = await client.wait(job);

  const { format, width, height } = await sharp(await (await fetch(target)).arrayBuffer()).metadata();
  assert.deepEqual({ format, width, height }, { format: 'jpeg', width: 160, height: 120 });
  assert.equal(result.width, 160);
});

test('a missing source ends in failed_jobs after three attempts, two seconds apart', async () => {
  const payload = { ...addresses('missing'), width: 160 };

  const job = await client.enqueue(makeThumbnail, payload);
  await assert.rejects(client.wait(job), JobEnded);

  const failed = 'select * from millrace.failed_jobs where job_id = $1';
  const { rows } = await database.query(failed, [job.id]);
  const { attempts, max_attempts, last_error, error_stacktrace, input_data } = rows[0];
  assert.deepEqual({ attempts, max_attempts, input_data }, { attempts: 3, max_attempts: 3, input_data: payload });
  assert.equal(last_error, `GET ${payload.source} returned 404`);
  assert.match(error_stacktrace, /returned 404\n {4}at get \(.*make-thumbnail\.ts:\d+/);
  const delays = 'select delay_seconds from millrace.job_attempts where job_id = $1 order by id';
  assert.deepEqual(
    (await database.query(delays, [job.id])).rows.map(({ delay_seconds }) => delay_seconds),
    [2, 2, null],
  );
});
