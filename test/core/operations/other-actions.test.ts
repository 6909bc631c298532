import { afterAll, expect, it } from 'vitest';
import { previewOperation, startOperation } from '../../../core/operations/start-operation.ts';
import { createLogin } from '../../support/runtime-engine.ts';
import { jobs, openOperations } from './world.ts';

const { pool, db, test, insert, finish, statusesOf, audit } = await openOperations();

const login = await createLogin(test, 'millrace_operator');
afterAll(login.drop);

const read = async (columns: string, ids: readonly string[]) =>
  (await pool.query(`select ${columns} from millrace.jobs where id = any($1) order by id`, [ids])).rows;

it('retry makes failed jobs due and redrives dead ones, and leaves those without a handler', async () => {
  const ids = [...(await insert('failed', 2)), ...(await insert('dead_letter', 2)), ...(await insert('pending'))];
  const [gone] = await insert('dead_letter');
  await pool.query(`update millrace.jobs_live set job_type = 'gone' where id = $1`, [gone]);

  const end = await finish('retry');

  expect(end).toMatchObject({ done: 4, left: { no_handler: 1 } });
  expect(await statusesOf([...ids, gone!])).toEqual([
    ...['failed', 'failed', 'pending', 'pending', 'pending', 'dead_letter'],
  ]);
  const due = 'due_at <= millrace.clock() as due, attempts';
  expect(await read(due, ids.slice(0, 4))).toEqual([1, 1, 0, 0].map((attempts) => ({ due: true, attempts })));
  expect(await audit()).toEqual(['redrive 2', 'retry 2', 'retry_started 1']);
  const { rows } = await pool.query(`select distinct actor from millrace.audit_log`);
  expect(rows).toEqual([{ actor: end?.requestedBy }]);
});

it('discard ends dead letters only', async () => {
  const ids = [...(await insert('dead_letter', 2)), ...(await insert('failed'))];

  expect(await finish('discard', { filter: jobs({ error: 'boom' }) })).toMatchObject({ done: 2 });
  expect(await statusesOf(ids)).toEqual(['cancelled', 'cancelled', 'failed']);
  expect((await pool.query('select distinct status from millrace.dead_letters')).rows).toEqual([
    { status: 'discarded' },
  ]);
});

it('delete removes finished jobs with their attempts, and no others', async () => {
  const [first, ...others] = [...(await insert('succeeded', 3)), ...(await insert('cancelled'))];
  const kept = [...(await insert('pending')), ...(await insert('dead_letter'))];
  await pool.query(`insert into millrace.job_attempts (job_id, attempt, outcome) values ($1, 1, 'failed')`, [first]);

  const end = await finish('delete', { filter: jobs({ statuses: ['succeeded'] }) });

  expect(end).toMatchObject({ done: 3, left: {} });
  expect(await statusesOf([first!, ...others, ...kept])).toEqual([
    ...[undefined, undefined, undefined, 'cancelled', 'pending', 'dead_letter'],
  ]);
  expect((await pool.query('select from millrace.job_attempts')).rowCount).toBe(0);
  expect(await audit()).toEqual(['delete 3', 'delete_started 1']);
});

it('an operator, who may not delete single jobs, may not delete many', async () => {
  const client = await pool.connect();
  try {
    await client.query(`set session authorization ${login.name}`);
    const starting = startOperation(client as never, { action: 'delete', filter: jobs() });
    await expect(starting).rejects.toMatchObject({ code: '42501' });
    expect(await previewOperation(client as never, { action: 'cancel', filter: jobs() }, 1000)).toMatchObject({
      matched: 0,
    });
    expect(Number(await startOperation(client as never, { action: 'cancel', filter: jobs() }))).toBeGreaterThan(0);
  } finally {
    client.release(true);
  }
});

it('reschedule sets the time and the priority of waiting jobs', async () => {
  const ids = [...(await insert('pending')), ...(await insert('failed')), ...(await insert('running'))];

  const moved = await finish('reschedule', { change: { run_at: '2990-01-01T00:00:00Z' } });
  const later = await read('due_at', ids.slice(0, 2));
  const now = await finish('reschedule', { change: { run_at: 'now', priority: 1 } });

  expect([moved?.done, now?.done]).toEqual([2, 2]);
  expect(later).toEqual([1, 2].map(() => ({ due_at: new Date('2990-01-01T00:00:00Z') })));
  expect(await read('due_at <= millrace.clock() as due, priority', ids)).toEqual([
    ...[
      { due: true, priority: 1 },
      { due: true, priority: 1 },
      { due: null, priority: 5 },
    ],
  ]);
});

it('reschedule leaves jobs that wait for children, and those that must start earlier', async () => {
  const [parent, urgent, free] = await insert('pending', 3);
  await pool.query(`update millrace.jobs_live set hold_until = '9999-12-31 00:00:00+00' where id = $1`, [parent]);
  await pool.query(`update millrace.jobs set start_by = '2980-01-01' where id = $1`, [urgent]);

  const moved = await finish('reschedule', { change: { run_at: '2990-01-01T00:00:00Z' } });
  const raised = await finish('reschedule', { change: { priority: 0 } });

  expect(moved).toMatchObject({ done: 1, left: { waits_for_children: 1, must_start_earlier: 1 } });
  expect(raised).toMatchObject({ done: 3 });
  expect((await read('priority', [parent!, urgent!, free!])).map(({ priority }) => priority)).toEqual([0, 0, 0]);
});

it.each([
  ['a value', { payload: [{ path: ['customer', 'id'], value: '42' }] }, 1],
  ['a value of a list', { payload: [{ path: ['tags', '1'], value: 'b' }] }, 1],
  [
    'two values',
    {
      payload: [
        { path: ['customer', 'id'], value: '42' },
        { path: ['ok'], value: 'false' },
      ],
    },
    0,
  ],
  ['an object', { payload: [{ path: ['customer'], value: '{"id": 42}' }] }, 0],
  ['a group key', { groupKey: 'acme' }, 1],
  ['a fingerprint', { group: '0123' }, 1],
  ['another fingerprint', { group: '9999' }, 0],
  ['attempts', { attemptsFrom: 1, attemptsTo: 1 }, 1],
  ['an age', { createdTo: new Date(0) }, 0],
] as const)('a filter by %s', async (_what, filter, matched) => {
  await insert('failed');
  const [failed] = await insert('failed');
  await pool.query(`update millrace.jobs_live set attempts = 2 where id = $1`, [failed]);
  await pool.query(
    `insert into millrace.job_attempts (job_id, attempt, outcome, fingerprint) values ($1, 1, 'failed', '0123abcd')`,
    [failed],
  );
  await pool.query(`insert into millrace.jobs (job_type, payload, group_key)
    values ('mail', '{"customer": {"id": 42}, "ok": true, "tags": ["a", "b"]}', 'acme')`);

  expect(await previewOperation(db, { action: 'cancel', filter: jobs(filter) }, 10_000)).toMatchObject({ matched });
});
