import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../support/database.ts';
import { createLogin, deploy, openEngine } from '../support/runtime-engine.ts';
import { copyIn } from './copy.ts';

const engine = await openEngine();
const { pool, db } = engine;
const login = await createLogin(engine.test, 'millrace_app');
await deploy(db, { jobType: 'mail', maxAttempts: 3 }, { jobType: 'index', routingKey: 'vector', maxAttempts: 9 });
afterAll(async () => {
  await engine.close();
  await login.drop();
});

beforeEach(async () => {
  await pool.query('delete from millrace.jobs_live; delete from millrace.job_events');
});

const rows = async (columns: string) =>
  (await pool.query(`select ${columns} from millrace.jobs_live order by id`)).rows;
const events = async () =>
  (await pool.query('select event, job_type, status, sum(count)::int as n from millrace.job_events group by 1, 2, 3'))
    .rows;

describe('a plain insert by an application', () => {
  it('fills in every column but the type', async () => {
    const app = await createClient(login.url);

    const { rows: ids } = await app.query(`insert into millrace.jobs (job_type) values ('mail') returning id`);

    const [job] = await rows('*, run_at = created_at and due_at = run_at as due_now');
    expect(job).toMatchObject({ id: ids[0].id, slot: 0, status: 'pending', payload: {}, priority: 5, attempts: 0 });
    expect(job).toMatchObject({ max_attempts: 3, routing_key: '', due_now: true, in_flight: false, claim_no: null });
    expect(await events()).toEqual([{ event: 'enqueued', job_type: 'mail', status: 'pending', n: 1 }]);
  });

  it.each([
    ['its handler', 'mail', '', 3],
    ['the handler of the routing key', 'index', 'vector', 9],
    ['no handler, for another routing key', 'index', 'keyword', 5],
    ['no handler yet', 'tomorrow', '', 5],
  ])('copies max_attempts from %s', async (_what, jobType, routingKey, expected) => {
    await pool.query('insert into millrace.jobs (job_type, routing_key) values ($1, $2)', [jobType, routingKey]);
    await pool.query('insert into millrace.jobs (job_type, routing_key, max_attempts) values ($1, $2, null)', [
      jobType,
      routingKey,
    ]);
    await pool.query('insert into millrace.jobs (job_type, routing_key, max_attempts) values ($1, $2, 7)', [
      jobType,
      routingKey,
    ]);

    const found = await rows('max_attempts');

    expect(found.map((row) => row.max_attempts)).toEqual([expected, expected, 7]);
  });

  it('accepts many rows, and inserts none when one is invalid', async () => {
    const app = await createClient(login.url);
    const many = await app.query(
      `insert into millrace.jobs (job_type, payload, priority)
         select 'mail', jsonb_build_object('n', n), n % 10 from generate_series(1, 50) n returning id`,
    );

    const wrong = app.query(`insert into millrace.jobs (job_type, priority) values ('mail', 1), ('mail', 10)`);

    await expect(wrong).rejects.toThrow('priority is 0 to 9');
    expect(await rows('id')).toEqual(many.rows);
    expect(await events()).toEqual([{ event: 'enqueued', job_type: 'mail', status: 'pending', n: 50 }]);
  });

  it('accepts a copy', async () => {
    const app = await createClient(login.url);

    await copyIn(app, 'copy millrace.jobs (job_type, payload, routing_key) from stdin', [
      'mail\t{"n":1}\t',
      'index\t{"n":2}\tvector',
    ]);

    expect(await rows('job_type, payload, max_attempts')).toEqual([
      { job_type: 'mail', payload: { n: 1 }, max_attempts: 3 },
      { job_type: 'index', payload: { n: 2 }, max_attempts: 9 },
    ]);
    expect(await events()).toHaveLength(2);
  });

  it('is neither stored nor counted after a rollback', async () => {
    const app = await createClient(login.url);

    await app.query('begin');
    await app.query(`insert into millrace.jobs (job_type) values ('mail')`);
    await app.query(`select * from millrace.enqueue('mail')`);
    await app.query('rollback');

    expect([await rows('id'), await events()]).toEqual([[], []]);
  });

  it('skips a used unique key with a bare on conflict do nothing', async () => {
    const app = await createClient(login.url);
    const insert = `insert into millrace.jobs (job_type, unique_key) values ('mail', 'k'), ('mail', 'k'), ('index', 'k')
      on conflict do nothing returning id`;

    const first = await app.query(insert);
    const second = await app.query(insert);

    expect([first.rows.length, second.rows.length]).toEqual([2, 0]);
    expect(await rows('job_type')).toEqual([{ job_type: 'mail' }, { job_type: 'index' }]);
  });

  it.each([
    ['job_type', `values (null, '{}')`, 'job_type'],
    ['payload', `values ('mail', null)`, 'payload'],
    ['an upper-case type', `values ('Mail', '{}')`, 'job_type is lower-case letters'],
    ['the name of a keyed handler', `values ('import_order.strict', '{}')`, 'the part after it is the routing_key'],
    ['an empty type', `values ('', '{}')`, 'job_type is lower-case letters'],
    ['a payload of 2 MiB', `values ('mail', to_jsonb(repeat('x', 2097152)))`, 'payload is at most 1 MiB'],
    ['a type of 61 characters', `values (repeat('a', 61), '{}')`, 'at most 60 characters together'],
  ])('refuses %s and states why', async (_what, values, message) => {
    await expect(pool.query(`insert into millrace.jobs (job_type, payload) ${values}`)).rejects.toThrow(message);
  });

  it.each([
    [`run_at`, `'infinity'`, 'run_at is in the years 1 to 9999'],
    [`run_at`, `'-infinity'`, 'run_at is in the years 1 to 9999'],
    [`run_at`, 'null', 'run_at'],
    ['priority', '-1', 'priority is 0 to 9'],
    ['max_attempts', '0', 'max_attempts is 1 to 1000'],
    ['max_attempts', '1001', 'max_attempts is 1 to 1000'],
    ['unique_key', `''`, 'unique_key is 1 to 500 characters'],
    ['unique_key', `repeat('k', 501)`, 'unique_key is 1 to 500 characters'],
    ['group_key', `''`, 'group_key is 1 to 500 characters'],
    ['routing_key', `'Vector'`, 'routing_key is empty or lower-case letters'],
  ])('refuses %s %s and states why', async (column, value, message) => {
    const insert = pool.query(`insert into millrace.jobs (job_type, ${column}) values ('mail', ${value})`);

    await expect(insert).rejects.toThrow(message);
  });

  it('accepts keys of 500 of the longest characters', async () => {
    await pool.query(
      `insert into millrace.jobs (job_type, unique_key, group_key)
         select 'mail', string_agg(chr(128512 + (n * 7919) % 300), ''), repeat('😀', 500)
           from generate_series(1, 500) n`,
    );

    expect(await rows('char_length(unique_key) as n')).toEqual([{ n: 500 }]);
  });
});
