import { beforeEach, describe, expect, it } from 'vitest';
import { openApi } from './world.ts';

const { pool, ask } = await openApi();

beforeEach(async () => {
  await pool.query(`
    truncate millrace.jobs, millrace.dead_letters restart identity;
    alter sequence millrace.job_ids restart;
    with buried as (
      insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no, last_error)
        select 'mail', 'dead_letter', 5, 5, 7, 'boom' from generate_series(1, 1200) returning id)
    insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, fingerprint)
      select id, 7, 'mail', '', 'boom', md5('boom') from buried order by id;
    insert into millrace.dead_letters (raw_body, last_error, fingerprint) values ('{{', 'odd', md5('odd'))`);
});

const discard = (body: object, query = '') => ask(`/admin/dlq/discard${query}`, { method: 'POST', body });

async function open(): Promise<number> {
  const { rows } = await pool.query(
    "select count(*)::integer as open from millrace.dead_letters where status = 'open'",
  );
  return rows[0].open;
}

describe('the audit log', () => {
  it.each([
    ['DELETE /admin/dlq/{id}', (id: string) => ask(`/admin/dlq/${id}`, { method: 'DELETE' })],
    ['POST /admin/dlq/discard', () => discard({ error: 'odd' })],
  ])('contains an event with the caller for a message without a job that %s discards', async (_name, act) => {
    const { rows } = await pool.query('select id from millrace.dead_letters where job_id is null');

    await act(rows[0].id);
    const { body } = await ask('/admin/audit?action=discard&limit=1');

    expect(body.items).toMatchObject([
      { actor: 'key:operator', action: 'discard', job_id: null, details: { dead_letter: rows[0].id } },
    ]);
  });
});

describe('POST /admin/dlq/discard', () => {
  it('counts the matches with dry_run and changes nothing', async () => {
    const { body } = await discard({ job_type: ['mail'] }, '?dry_run=true');

    expect(body).toEqual({ matched: 1200, until_id: '1200' });
    expect(await open()).toBe(1201);
  });

  it('discards a thousand dead letters per request and none newer than until_id', async () => {
    const first = await discard({ error: 'BOOM', until_id: '1100' });
    const second = await discard({ error: 'BOOM', until_id: '1100', cursor: first.body.next_cursor });
    const third = await discard({ error: 'BOOM', until_id: '1100', cursor: second.body.next_cursor });

    expect(first.body).toMatchObject({ discarded: 1000, left: [], has_more: true });
    expect(second.body).toMatchObject({ discarded: 100, has_more: true });
    expect(third.body).toEqual({ discarded: 0, left: [], next_cursor: null, has_more: false });
    expect(await open()).toBe(101);
    const { rows } = await pool.query('select status from millrace.jobs where id = 1');
    expect(rows).toEqual([{ status: 'cancelled' }]);
  });

  it.each([
    [{}, 422],
    [{ all: true, error: 'boom' }, 422],
    [{ error: 'boom', cursor: 'x' }, 400],
    [{ error: 'boom', until_id: '0' }, 422],
  ])('answers the body %j with %i', async (body, status) => {
    const answer = await discard(body);

    expect(answer.status).toBe(status);
    expect(await open()).toBe(1201);
  });
});

describe('DELETE /admin/dlq/{id}', () => {
  it('discards a message without a job once, and never a job', async () => {
    const answers = [];
    for (const id of ['1201', '1201', '1']) answers.push(await ask(`/admin/dlq/${id}`, { method: 'DELETE' }));

    expect(answers.map(({ status }) => status)).toEqual([204, 404, 404]);
    expect(await open()).toBe(1200);
  });
});
