import { expect, it } from 'vitest';
import { createClient } from '../support/database.ts';
import { openDatabaseEngine } from '../support/database-engine.ts';

// The tests connect as a superuser.
const engine = await openDatabaseEngine();

it.each([
  ['an id that the sequence has not issued', (id: string) => `${BigInt(id) + 2n}`],
  ['a distant id', () => '9000000000'],
  ['the id of a finished job', (id: string) => id],
])('an insert with %s is refused, also for a superuser', async (_what, idOf) => {
  const id = await engine.enqueue();
  await engine.sql('select millrace.cancel($1)', [id]);
  await engine.enqueue();
  const before = await engine.sql('select id, status from millrace.jobs order by 1, 2');

  const refused = engine.sql(`insert into millrace.jobs (id, job_type) values (${idOf(id)}, 'work')`);

  await expect(refused).rejects.toMatchObject({ code: '22023', message: expect.stringContaining('omit the column') });
  expect(await engine.sql('select id, status from millrace.jobs order by 1, 2')).toEqual(before);
});

/** A session of its own: the statement before the last decides which ids it was issued. */
async function inOneSession(...statements: readonly string[]): Promise<unknown> {
  const client = await createClient(engine.database.url);
  try {
    let rows: readonly { id: string }[] = [];
    for (const text of statements) {
      const answered = await client.query<{ id: string }>(text.replaceAll('$id', rows[0]?.id ?? ''));
      if (answered.rows[0]?.id !== undefined) rows = answered.rows;
    }
    return rows;
  } finally {
    await client.end();
  }
}

const INSERT = `insert into millrace.jobs (job_type) values ('work') returning id`;

it.each([
  ['an insert', INSERT],
  ['enqueue', `select id from millrace.enqueue('work')`],
  ['enqueue with a unique key', `select id from millrace.enqueue('work', unique_key => 'by hand')`],
  ['enqueue_many', `select id from millrace.enqueue_many('[{"job_type": "work"}]')`],
])('an insert with the id of a finished job that %s of the same session created is refused', async (_what, create) => {
  const again = inOneSession(
    create,
    'select millrace.cancel($id)',
    `insert into millrace.jobs (id, job_type) values ($id, 'work')`,
  );

  await expect(again).rejects.toMatchObject({ code: '22023', message: expect.stringContaining('omit the column') });
});

it('an insert with the id of a finished job beside a new one is refused', async () => {
  const again = inOneSession(
    INSERT,
    'select millrace.cancel($id)',
    `insert into millrace.jobs (id, job_type) values ($id, 'work'), (default, 'work')`,
  );

  await expect(again).rejects.toMatchObject({ code: '22023' });
});

it('inserts without an id follow each other in one session, also after a rollback', async () => {
  const rows = await inOneSession(
    INSERT,
    'begin',
    INSERT,
    'rollback',
    INSERT,
    `select from millrace.enqueue('work')`,
    INSERT,
  );

  expect(rows).toHaveLength(1);
});

it.each([
  ['dead_letter', 'job_type, status', `'work', 'dead_letter'`],
  ['failed', 'job_type, status, next_retry_at', `'work', 'failed', now()`],
])('an insert with the status %s is refused, also for a superuser', async (_status, columns, values) => {
  const refused = engine.sql(`insert into millrace.jobs (${columns}) values (${values})`);

  await expect(refused).rejects.toMatchObject({
    code: '22023',
    message: `status: a new job is pending: omit the column`,
  });
});
