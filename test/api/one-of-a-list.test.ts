import { beforeAll, describe, expect, it } from 'vitest';
import { openApi } from './world.ts';

const { pool, ask } = await openApi();

let letter: string;
let stray: string;
let job: string;
beforeAll(async () => {
  const jobs = await pool.query(
    `insert into millrace.jobs_live (job_type, payload, status, attempts, max_attempts, claim_no, last_error)
       values ('mail', '{"n": 1.10}', 'dead_letter', 5, 5, 7, 'boom') returning id`,
  );
  job = jobs.rows[0].id;
  const letters = await pool.query(
    `insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, fingerprint, raw_body)
       values ($1, 7, 'mail', '', 'boom', md5('boom'), null), (null, null, null, null, 'odd', md5('odd'), '{{')
       returning id`,
    [job],
  );
  [letter, stray] = letters.rows.map(({ id }) => id) as [string, string];
});

describe('GET /admin/dlq/{id}', () => {
  it('shows a dead letter by its own id, with every digit of the payload', async () => {
    const { status, body, text } = await ask(`/admin/dlq/${letter}`);

    expect(status).toBe(200);
    expect(body).toMatchObject({ dead_letter_id: letter, job_id: job, attempts: 5, payload_restricted: false });
    expect(text).toContain('"payload":{"n":1.10}');
  });

  it('shows a message that is nobody’s job', async () => {
    const { body } = await ask(`/admin/dlq/${stray}`);

    expect(body).toMatchObject({ dead_letter_id: stray, job_id: null, payload: null, raw_body: '{{' });
  });

  it.each([['payload'], ['raw_body']])('shows no %s without payload:read', async (member) => {
    const answers = await Promise.all([letter, stray].map((id) => ask(`/admin/dlq/${id}`, { scopes: ['jobs:read'] })));

    for (const { body } of answers) {
      expect(body).not.toHaveProperty(member);
      expect(body.payload_restricted).toBe(true);
    }
  });

  it('finds none by another id, nor when it is resolved', async () => {
    const before = await ask(`/admin/dlq/4711`);
    const fresh = await pool.query(
      "insert into millrace.dead_letters (status, resolved_at, last_error) values ('discarded', now(), 'x') returning id",
    );
    const resolved = await ask(`/admin/dlq/${fresh.rows[0].id}`);

    expect([before.status, resolved.status]).toEqual([404, 404]);
  });
});

describe('GET /admin/dlq/groups/{fingerprint}', () => {
  it('shows one kind of error with its stack, its handlers and some of its jobs', async () => {
    const { rows } = await pool.query("select md5('boom') as fingerprint");

    const { status, body } = await ask(`/admin/dlq/groups/${rows[0].fingerprint}`);

    expect(status).toBe(200);
    expect(body).toMatchObject({
      jobs: 1,
      handlers: [{ handler: 'mail', jobs: 1 }],
      samples: [job],
      last_error: 'boom',
    });
  });

  it.each([
    ['ffff', 404],
    ['XYZ', 422],
  ])('finds no group %s', async (fingerprint, expected) => {
    const { status } = await ask(`/admin/dlq/groups/${fingerprint}`);

    expect(status).toBe(expected);
  });
});

it('GET /admin/redrives/{id} says of jobs which it moved, when it is asked', async () => {
  const redriven = await pool.query(
    `with moved as (
       insert into millrace.dead_letters (job_id, claim_no, status, resolved_at, resolution, last_error)
         values (501, 1, 'redriven', now(), 'redrive 9 of x', 'x'),
                (502, 1, 'redriven', now(), 'redrive 8 of x', 'x'))
     insert into millrace.operations (id, kind, filter) overriding system value
       values (9, 'redrive', '{}') returning id`,
  );

  const plain = await ask(`/admin/redrives/${redriven.rows[0].id}`);
  const asked = await ask(`/admin/redrives/${redriven.rows[0].id}?job_id=501,502&job_id=503`);

  expect(plain.body).not.toHaveProperty('moved_jobs');
  expect(asked.body).toMatchObject({ id: '9', moved_jobs: ['501'] });
  await pool.query('delete from millrace.operations where id = 9');
});

describe('GET /admin/redrives', () => {
  it('lists them page after page, the newest first, and by status', async () => {
    await pool.query(
      `insert into millrace.operations (kind, filter, status, finished_at)
         select 'redrive', '{}', case when n = 2 then 'done' else 'running' end, case when n = 2 then now() end
           from generate_series(1, 3) n`,
    );

    const first = await ask('/admin/redrives?limit=2');
    const second = await ask(`/admin/redrives?limit=2&cursor=${first.body.next_cursor}`);
    const running = await ask('/admin/redrives?status=running');
    const wrong = await ask('/admin/redrives?status=odd');

    const ids = ({ body }: typeof first) => body.items.map(({ id }: { id: string }) => id);
    expect(ids(first)).toEqual(['3', '2']);
    expect(second.body).toMatchObject({ items: [{ id: '1', status: 'running' }], has_more: false, next_cursor: null });
    expect(ids(running)).toEqual(['3', '1']);
    expect(wrong.status).toBe(422);
  });
});

it('GET /admin/jobs/stats tells how each dead-letter queue stands', async () => {
  const { body } = await ask('/admin/jobs/stats');

  expect(body.handlers).toContainEqual({ handler: 'mail', paused: false, queue: 'mail-dlq', depth: 0, dead: 1 });
});
