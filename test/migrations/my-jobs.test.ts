import type pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { FIELDS as VISIBLE } from '../../api/redact.ts';
import { claim } from '../../core/jobs/claim.ts';
import { createClient } from '../support/database.ts';
import { createLogin, deploy, markRunning, openEngine } from '../support/runtime-engine.ts';
import { copyIn } from './copy.ts';

const engine = await openEngine();
const { pool, db } = engine;
const shop = await createLogin(engine.test, 'millrace_app');
const billing = await createLogin(engine.test, 'millrace_app');
await deploy(db, { jobType: 'mail' });
afterAll(async () => {
  await engine.close();
  await shop.drop();
  await billing.drop();
});

const FIELDS = [
  ...['id', 'job_type', 'routing_key', 'status', 'priority', 'attempts', 'max_attempts', 'run_at', 'start_by'],
  ...['next_retry_at', 'created_at', 'updated_at', 'dispatched_at', 'started_at', 'finished_at'],
];

async function enqueue(client: pg.Client): Promise<string> {
  return (await client.query(`select id from millrace.enqueue('mail', '{"card": "4111"}', unique_key => null)`)).rows[0]
    .id;
}

/** Returns what a login sees of a job. */
async function see(client: pg.Client, id: string): Promise<Record<string, unknown> | undefined> {
  return (await client.query('select * from millrace.my_jobs where id = $1', [id])).rows[0];
}

describe('millrace.my_jobs', () => {
  it('shows the status and times of a job to the login that inserted it, and to no other', async () => {
    const [ours, theirs] = [await createClient(shop.url), await createClient(billing.url)];
    const [own, foreign] = [await enqueue(ours), await enqueue(theirs)];

    const seen = await see(ours, own);

    expect(Object.keys(seen!)).toEqual(FIELDS);
    expect(VISIBLE.any).toEqual(expect.arrayContaining(FIELDS));
    expect(seen).toMatchObject({ job_type: 'mail', status: 'pending', attempts: 0, max_attempts: 5 });
    expect([await see(ours, foreign), await see(theirs, own)]).toEqual([undefined, undefined]);
    expect((await see(theirs, foreign))?.id).toBe(foreign);
  });

  const ways: [string, (client: pg.Client) => Promise<unknown>][] = [
    [
      'a plain insert',
      (app) => app.query(`insert into millrace.jobs (job_type, group_key) values ('mail', $1)`, ['x']),
    ],
    ['a copy', (app) => copyIn(app, 'copy millrace.jobs (job_type) from stdin', ['mail'])],
    ['enqueue', (app) => app.query(`select millrace.enqueue('mail')`)],
    ['enqueue with a unique key', (app) => app.query(`select millrace.enqueue('mail', unique_key => 'one')`)],
    ['enqueue_many', (app) => app.query(`select millrace.enqueue_many('[{"job_type": "mail"}]')`)],
    [
      'enqueue_many with a unique key',
      (app) => app.query(`select millrace.enqueue_many('[{"job_type": "mail", "unique_key": "many"}]')`),
    ],
    ['another role of the session', (app) => app.query(`set role millrace_app; select millrace.enqueue('mail')`)],
    ['a function with the rights of its owner', (app) => app.query('select order_placed()')],
  ];

  it.each(ways)('records the login of %s', async (_what, insert) => {
    const app = await createClient(shop.url);
    await pool.query(`create or replace function order_placed() returns bigint security definer language sql as
      $$ select id from millrace.enqueue('mail') $$`);
    const before = (await app.query('select from millrace.my_jobs')).rowCount ?? 0;

    await insert(app);

    expect((await app.query('select from millrace.my_jobs')).rowCount).toBe(before + 1);
    expect((await pool.query('select inserted_by from millrace.jobs order by id desc limit 1')).rows).toEqual([
      { inserted_by: shop.name },
    ]);
  });

  it('shows an attempt, a death, a redrive and the end', async () => {
    const app = await createClient(shop.url);
    const id = await enqueue(app);
    const statuses: unknown[] = [];
    const look = async () => statuses.push((await see(app, id))?.status);

    await claim(db, 1000);
    await look();
    await markRunning(pool, [id]);
    await look();
    await pool.query(
      `update millrace.jobs_live set status = 'dead_letter', lease_expires_at = null, last_error = 'boom' where id = $1`,
      [id],
    );
    await look();
    await pool.query('select millrace.retry($1)', [id]);
    await look();
    await pool.query('select millrace.cancel($1)', [id]);
    await look();

    expect(statuses).toEqual(['dispatched', 'running', 'dead_letter', 'pending', 'cancelled']);
    expect((await see(app, id))?.finished_at).toBeInstanceOf(Date);
  });

  it('does not show the job of another login whose unique key was in use', async () => {
    const [ours, theirs] = [await createClient(shop.url), await createClient(billing.url)];
    const sql = `select id, deduplicated from millrace.enqueue('mail', unique_key => 'shared')`;
    const { rows: first } = await theirs.query(sql);

    const { rows: second } = await ours.query(sql);

    expect(second).toEqual([{ id: first[0].id, deduplicated: true }]);
    expect(await see(ours, second[0].id)).toBeUndefined();
  });

  it('passes no row of another login to a function of the caller', async () => {
    const [ours, theirs] = [await createClient(shop.url), await createClient(billing.url)];
    const foreign = await enqueue(theirs);
    await ours.query(`create temp table leaked (id bigint);
      create function pg_temp.leak(id bigint) returns boolean language plpgsql cost 0.0001 as
        $$ begin insert into leaked values (leak.id); return true; end $$`);

    await ours.query('select from millrace.my_jobs where pg_temp.leak(id)');

    const { rows } = await ours.query('select id from leaked');
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.map(({ id }) => id)).not.toContain(foreign);
  });

  it('finds jobs by their ids with the indexes of the partitions', async () => {
    await pool.query(`insert into millrace.jobs (job_type) select 'mail' from generate_series(1, 5000)`);
    await pool.query(`insert into millrace.jobs_finished (job_type, slot, status, max_attempts, finished_at)
      select 'mail', 1 + n % 32, 'succeeded', 5, now() from generate_series(1, 96000) n`);
    await pool.query('analyze millrace.jobs');
    const app = await createClient(shop.url);

    for (const condition of ['id = 4711', 'id = any(array[1, 4711]::bigint[])', 'id between 4700 and 4711']) {
      const { rows } = await app.query(`explain select status from millrace.my_jobs where ${condition}`);

      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain('jobs_live_pkey');
      expect(plan).toContain('jobs_finished_32_pkey');
      expect(plan).not.toContain('Seq Scan');
    }
  });
});
