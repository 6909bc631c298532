import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

it('gives dead letters without an attempt a group for each handler and message', async () => {
  const ids = [];
  for (const jobType of ['one', 'one', 'other', 'one']) ids.push(await engine.enqueue({ jobType }));
  const messages = ['lost', 'lost', 'lost', 'refused'];

  await engine.sql('select millrace.die($1::bigint[], array_fill(null::text, array[4]), $2::text[])', [ids, messages]);

  const groups = await engine.sql<{ jobs: string }>(
    'select string_agg(job_id::text, $1 order by job_id) as jobs from millrace.dead_letters group by fingerprint',
    [' '],
  );
  expect(groups.map(({ jobs }) => jobs).sort()).toEqual([`${ids[0]} ${ids[1]}`, ids[2], ids[3]].sort());
});
