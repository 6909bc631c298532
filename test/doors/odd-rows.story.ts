import { beforeEach, describe, expect, it } from 'vitest';
import { QUEUE } from '../support/database-engine.ts';
import { withQuery } from '../support/with-query.ts';
import { openDoors } from './world.ts';

const { engine, ask, cli } = await openDoors();
const { sql } = engine;

// Rows that break the rules, as an administrator can write them.
await sql(`create or replace function millrace.refuse(rule text) returns void language sql as 'select'`);

const FIRST = '0001-01-01T00:00:00.000Z';
const LAST = '9999-12-31T23:59:59.999Z';

describe.each([
  ['infinity', LAST],
  ['294276-12-31 23:59:59+00', LAST],
  ['10000-01-01 00:00:00+00', LAST],
  ['-infinity', FIRST],
  ['4713-01-01 00:00:00+00 BC', FIRST],
])('a job with the times %s', (time, shown) => {
  let odd: string;
  let good: string;
  let letter: string;
  beforeEach(async () => {
    good = await engine.enqueue();
    odd = await engine.enqueue();
    await sql(
      `update millrace.jobs_live set run_at = $2, created_at = $2, started_at = $2, status = 'dead_letter',
         last_error = 'boom' where id = $1`,
      [odd, time],
    );
    const [row] = await sql<{ id: string }>(
      `insert into millrace.dead_letters (job_id, job_type, routing_key, died_at, last_error, fingerprint)
         values ($1, 'work', '', $2, 'boom', 'abcdef') returning id`,
      [odd, time],
    );
    letter = row!.id;
  });

  it('does not break a list of the API', async () => {
    const paths = [
      '/admin/jobs',
      '/admin/jobs?status=dead_letter',
      `/jobs/${odd}`,
      '/admin/dlq',
      `/admin/dlq/${letter}`,
    ];

    for (const path of [...paths, '/admin/dlq/groups', '/admin/jobs/stats', '/metrics', '/admin/handlers']) {
      const { status, text } = await ask(path);
      expect({ path, status, text }).toMatchObject({ status: 200 });
    }
    const { body } = await ask('/admin/jobs');
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual([odd, good]);
    expect(body.items[0]).toMatchObject({ run_at: shown, created_at: shown });
    expect((await ask(`/jobs/${odd}`)).body).toMatchObject({ run_at: shown, started_at: shown });
  });

  it.each([[[]], [['--json']]])('does not break a list of the command line: %j', async (flags) => {
    for (const args of [
      ['jobs', 'list'],
      ['jobs', 'show', odd],
      ['dlq', 'list'],
      ['dlq', 'show', odd],
      ['dlq'],
      ['stats'],
    ]) {
      const { code, stderr } = await cli([...args, ...flags]);
      expect({ args, code, stderr }).toMatchObject({ code: 0 });
    }
    const { stdout } = await cli(['jobs', 'list', ...flags]);
    expect(stdout).toContain(shown.slice(0, 19));
  });
});

describe('a payload or a trace that is too large', () => {
  const insert = async () => {
    const mates = [await engine.enqueue({ maxAttempts: 1 }), await engine.enqueue({ maxAttempts: 1 })];
    const [large] = await sql<{ id: string }>(
      `insert into millrace.jobs (job_type, payload, max_attempts)
         values ('work', jsonb_build_object('x', repeat('a', 2000000)), 1) returning id`,
    );
    const [traced] = await sql<{ id: string }>(
      `insert into millrace.jobs (job_type, traceparent, max_attempts)
         values ('work', repeat('t', 2000000), 1) returning id`,
    );
    return { mates: [...mates, traced!.id], large: large!.id };
  };
  const LARGE = 'payload: has more than 1048576 bytes: store it elsewhere and pass its address';

  it('does not affect the other jobs of the batch, and the job dies without running', async () => {
    const { mates, large } = await insert();
    await engine.dispatch();

    await engine.run(engine.queues.receive(QUEUE, 10));

    for (const id of mates) expect(await engine.state(id)).toMatchObject({ status: 'succeeded' });
    expect(engine.runs.toSorted()).toEqual(mates.toSorted());
    expect(await engine.state(large)).toMatchObject({ status: 'dead_letter', attempts: 1, last_error: LARGE });
  });

  it('uses no attempt if the response to the start is lost', async () => {
    const { mates, large } = await insert();
    await engine.dispatch();
    const records = engine.queues.receive(QUEUE, 10);
    const lost = new Error('Connection terminated unexpectedly');
    let isFirst = true;
    const db = withQuery(engine.db, async (text, values) => {
      const answer = await engine.db.query(text, values);
      if (!isFirst || !text.includes('start_jobs')) return answer;
      isFirst = false;
      throw lost;
    });

    await engine.run(records, { deps: { db: db as typeof engine.db } });

    for (const id of mates) expect(await engine.state(id)).toMatchObject({ status: 'succeeded' });
    expect(await engine.state(large)).toMatchObject({ status: 'dead_letter', attempts: 1, last_error: LARGE });
  });

  it('is not shown, but the reason is', async () => {
    const { large } = await insert();

    const { status, body } = await ask(`/jobs/${large}`);
    const [table, json] = [await cli(['jobs', 'show', large]), await cli(['jobs', 'show', large, '--json'])];

    expect({ status, body }).toMatchObject({ status: 200, body: { payload: null, payload_too_large: true } });
    expect(table.stdout).toContain('payload\tnot shown: more than 1 MiB');
    expect(JSON.parse(json.stdout)).toMatchObject({ payload: null, payload_too_large: true });
  });

  it('is neither shown with the dead letter of the job nor exported', async () => {
    const { large } = await insert();
    await sql(`update millrace.jobs_live set status = 'dead_letter', claim_no = 1, last_error = 'x' where id = $1`, [
      large,
    ]);
    const [letter] = await sql<{ id: string }>(
      `insert into millrace.dead_letters (job_id, job_type, routing_key, last_error)
         values ($1, 'work', '', 'x') returning id`,
      [large],
    );

    const { status, text, body } = await ask(`/admin/dlq/${letter?.id}`);
    const [table, exported] = [await cli(['dlq', 'show', large]), await cli(['dlq', 'export', '--id', large])];

    expect({ status, body }).toMatchObject({ status: 200, body: { payload: null, payload_too_large: true } });
    expect(table.stdout).toContain('payload\tnot shown: more than 1 MiB');
    expect(JSON.parse(exported.stdout)).toMatchObject({ job_id: large, payload: null, payload_too_large: true });
    expect(Math.max(text.length, exported.stdout.length)).toBeLessThan(5000);
  });

  it('does not prevent the job from being cancelled', async () => {
    const { large } = await insert();

    const [{ cancel } = {}] = await sql<{ cancel: string }>('select millrace.cancel($1)', [large]);

    expect(cancel).toBe('cancelled');
  });
});
