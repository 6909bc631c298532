import { afterAll, expect, it } from 'vitest';
import { createDatabase } from '../../support/database.ts';
import { runCli } from '../run-cli.ts';

const database = await createDatabase();
afterAll(() => database.drop());
const run = (...args: string[]) => runCli(args, { env: { DATABASE_URL: database.url } });

it.each([
  [101, true],
  [100, false],
])('jobs show prints whether a history of %i entries has older attempts: %s', async (count, hasMore) => {
  const { rows } = await database.pool.query(`insert into millrace.jobs (job_type) values ('a') returning id`);
  const { id } = rows[0];
  await database.pool.query(
    `insert into millrace.job_attempts (job_id, attempt, outcome) select $1, g, 'failed' from generate_series(1, $2) g`,
    [id, count],
  );

  const [plain, json] = await Promise.all([run('jobs', 'show', id), run('jobs', 'show', id, '--json')]);

  expect(plain.stdout.includes('older attempts\tnot shown: only the newest 100 are')).toBe(hasMore);
  expect(JSON.parse(json.stdout)).toMatchObject({ more_attempts: hasMore });
});
