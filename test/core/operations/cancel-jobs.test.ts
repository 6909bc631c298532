import { expect, it } from 'vitest';
import { readOperation } from '../../../core/operations/operation.ts';
import { previewOperation } from '../../../core/operations/start-operation.ts';
import { createClient } from '../../support/database.ts';
import { jobs, openOperations } from './world.ts';

const { pool, db, test, start, insert, step, finish, statusesOf, audit } = await openOperations();

it('a dry run counts by status and handler, and changes nothing', async () => {
  const ids = [...(await insert('pending', 3)), ...(await insert('failed', 2)), ...(await insert('dead_letter', 4))];

  const all = await previewOperation(db, { action: 'cancel', filter: jobs() }, 10_000);
  const limited = await previewOperation(db, { action: 'cancel', filter: jobs({ error: 'BOOM' }), limit: 1 }, 10_000);

  expect(all).toMatchObject({
    ...{ matched: 5, complete: true, asOf: expect.stringMatching(/\.\d{6}Z$/) },
    groups: [
      { status: 'pending', jobType: 'mail', routingKey: '', jobs: 3 },
      { status: 'failed', jobType: 'mail', routingKey: '', jobs: 2 },
    ],
  });
  expect(limited).toMatchObject({ matched: 1, groups: [{ status: 'failed', jobs: 2 }] });
  expect(new Set(await statusesOf(ids))).toEqual(new Set(['pending', 'failed', 'dead_letter']));
});

it('a dry run that runs out of time says that its count is incomplete', async () => {
  await insert('pending');

  expect(await previewOperation(db, { action: 'cancel', filter: jobs() }, 0)).toMatchObject({
    ...{ matched: 0, complete: false },
  });
});

it('cancels what waits, requests the cancellation of what runs, and leaves dead letters', async () => {
  const ids = (
    await Promise.all(['pending', 'failed', 'dispatched', 'running', 'dead_letter', 'succeeded'].map((s) => insert(s)))
  ).flat();

  const end = await finish('cancel', { reason: 'wrong customer', expected: 4 });

  expect(end).toMatchObject({ status: 'done', done: 4, left: {}, reason: 'wrong customer', examined: 1 });
  expect(await statusesOf(ids)).toEqual([
    'cancelled',
    'cancelled',
    'dispatched',
    'running',
    'dead_letter',
    'succeeded',
  ]);
  const { rows } = await pool.query('select job_id::text from millrace.cancel_requests order by 1');
  expect(rows.map(({ job_id }) => job_id).sort()).toEqual([ids[2], ids[3]].sort());
  expect(await audit()).toEqual(['cancel 4', 'cancel_started 1']);
  const { rows: started } = await pool.query(
    `select actor, details from millrace.audit_log where action = 'cancel_started'`,
  );
  expect(started).toMatchObject([
    { actor: end?.requestedBy, details: { reason: 'wrong customer', filter: { all: true } } },
  ]);
});

it('cancels dead letters if the filter names their status', async () => {
  const ids = await insert('dead_letter');

  expect(await finish('cancel', { filter: jobs({ statuses: ['dead_letter'] }) })).toMatchObject({ done: 1 });
  expect(await statusesOf(ids)).toEqual(['cancelled']);
});

it('touches neither jobs that arrived nor states that began after the dry run', async () => {
  const [failing] = await insert('pending');
  const failed = await insert('failed', 2);
  const filter = jobs({ statuses: ['failed'] });
  const { asOf, matched } = await previewOperation(db, { action: 'cancel', filter }, 10_000);
  await pool.query(
    `update millrace.jobs_live set status = 'failed', next_retry_at = millrace.clock(), updated_at = millrace.clock()
       where id = $1`,
    [failing],
  );
  const late = await insert('failed', 2);

  const end = await finish('cancel', { filter, asOf, expected: matched });

  expect(end).toMatchObject({ done: 2, left: {} });
  expect(await statusesOf([failing!, ...failed, ...late])).toEqual([
    ...['failed', 'cancelled', 'cancelled', 'failed', 'failed'],
  ]);
});

it('reports the jobs that changed after the dry run', async () => {
  const [first] = await insert('failed', 3);
  const filter = jobs({ statuses: ['failed'] });
  const { asOf, matched } = await previewOperation(db, { action: 'cancel', filter }, 10_000);
  await pool.query('select millrace.retry($1)', [first]);

  expect(await finish('cancel', { filter, asOf, expected: matched })).toMatchObject({ done: 2, left: { changed: 1 } });
});

it('a dispatcher that dies continues at its position, and changes each job once', async () => {
  const ids = await insert('pending', 25);
  const id = await start('cancel');
  await step(id, 10);
  const client = await createClient(test.url);
  await client.query('begin');
  await client.query('select from millrace.step_operation($1, 10)', [id]);
  await client.query('rollback');

  const between = await statusesOf(ids);
  const after = [await step(id, 10), await step(id, 10), await step(id, 10)];

  expect(between.filter((status) => status === 'cancelled').length).toBe(10);
  expect(after.map((now) => [now?.done, now?.status])).toEqual([
    [20, 'running'],
    [25, 'running'],
    [25, 'done'],
  ]);
  expect(await audit()).toEqual(['cancel 25', 'cancel_started 1']);
});

it('two steps at once change different jobs, or one waits for no lock', async () => {
  const ids = await insert('pending', 30);
  const id = await start('cancel');

  await Promise.all(Array.from({ length: 8 }, () => step(id, 5)));
  while ((await step(id))?.status === 'running');

  expect(await readOperation(db, id)).toMatchObject({ done: 30 });
  expect(new Set(await statusesOf(ids))).toEqual(new Set(['cancelled']));
  expect(await audit()).toEqual(['cancel 30', 'cancel_started 1']);
});

it('skips a locked job, returns to it, and leaves it after a minute', async () => {
  const [locked, ...others] = await insert('pending', 3);
  const client = await createClient(test.url);
  await client.query('begin');
  await client.query('select from millrace.jobs_live where id = $1 for update', [locked]);
  const id = await start('cancel');

  const skipped = [await step(id), await step(id)];
  await client.query('commit');
  const freed = [await step(id), await step(id)];

  expect(skipped.map((now) => [now?.done, now?.status])).toEqual([
    [2, 'running'],
    [2, 'running'],
  ]);
  expect(freed.map((now) => [now?.done, now?.status])).toEqual([
    [3, 'done'],
    [3, 'done'],
  ]);
  expect(await statusesOf([locked!, ...others])).toEqual(['cancelled', 'cancelled', 'cancelled']);

  const [again] = await insert('pending');
  await client.query('begin');
  await client.query('select from millrace.jobs_live where id = $1 for update', [again]);
  const second = await start('cancel');
  for (let n = 0; n < 3; n++) await step(second);
  await pool.query(`update millrace.operations set locked_since = locked_since - interval '2 minutes' where id = $1`, [
    second,
  ]);
  expect(await step(second)).toMatchObject({ status: 'done', done: 0, left: { locked: 1 } });
  await client.query('rollback');
});
