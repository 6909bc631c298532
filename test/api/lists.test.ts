import { beforeAll, describe, expect, it } from 'vitest';
import { openApi, type Reply } from './world.ts';

const { ask, pool } = await openApi();

const insert = (jobType: string, count: number, apart = '0') =>
  pool.query(
    `insert into millrace.jobs (job_type, created_at, payload)
       select $1, now() - n * $3::interval, '{"big": true}' from generate_series(1, $2::int) n returning id`,
    [jobType, count, apart],
  );

/** Reads all ids page by page; `between` runs after each page. */
async function walk(path: string, between: (page: Reply) => Promise<unknown> = async () => undefined) {
  const ids: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await ask(`${path}${cursor}`);
    expect(page.status).toBe(200);
    ids.push(...page.body.items.map(({ id }: { id: string }) => id));
    await between(page);
    if (!page.body.has_more) return ids;
    cursor = `&cursor=${page.body.next_cursor}`;
  }
}

describe('WEB-06: GET /admin/jobs', () => {
  it.each([
    ['equal', '0', 50],
    ['equal', '0', 7],
    ['10 µs apart', '10 microseconds', 50],
  ])(
    'shows each of 500 jobs once while others come and go, with times %s (%s) and pages of %i',
    async (_name, apart, limit) => {
      const type = `walk_${limit}_${apart.length}`;
      const { rows } = await insert(type, 500, apart);
      const mine = rows.map((row) => row.id as string);

      const seen = await walk(`/admin/jobs?job_type=${type}&limit=${limit}`, async ({ body }) => {
        // The job at the cursor is deleted, a new job is inserted, and a job already shown finishes.
        await pool.query('delete from millrace.jobs_live where id = $1', [body.items.at(-1).id]);
        await insert(type, 1);
        await pool.query('select millrace.cancel($1)', [body.items[0].id]);
      });

      expect(seen).toEqual(mine.toReversed());
    },
  );

  it('shows a job that finishes between two pages at most once', async () => {
    const { rows } = await insert('finishing', 60);
    const mine = rows.map((row) => row.id as string);

    const seen = await walk('/admin/jobs?job_type=finishing&limit=20', async () => {
      await pool.query('select millrace.cancel(id) from unnest($1::bigint[]) id', [mine.slice(20, 40)]);
    });

    expect(seen).toEqual(mine.toReversed());
  });

  it('never shows payloads', async () => {
    await insert('secretive', 1);

    const { text } = await ask('/admin/jobs?job_type=secretive');

    expect(text).toContain('secretive');
    expect(text).not.toContain('"big"');
  });

  it.each([
    ['that is forged', '&cursor=AAAA'],
    ['of another filter', '&cursor=OTHER&job_type=else'],
    ['with another id', `&cursor=${Buffer.from('12.000000000000').toString('base64url')}`],
    ['that is empty', '&cursor='],
    ['beyond the largest id', `&cursor=${Buffer.from('9999999999999999999.000000000000').toString('base64url')}`],
  ])('answers 400 for a cursor %s', async (_name, query) => {
    await insert('cursors', 3);
    const { body } = await ask('/admin/jobs?limit=1');

    const reply = await ask(`/admin/jobs?limit=1${query.replace('OTHER', body.next_cursor)}`);

    expect({ status: reply.status, type: reply.body.type }).toEqual({ status: 400, type: '/problems/bad-cursor' });
  });

  it('accepts page numbers up to row 10,000 and recommends the cursor beyond it', async () => {
    await insert('paged', 5);

    const first = await ask('/admin/jobs?job_type=paged&limit=2&page=1');
    const third = await ask('/admin/jobs?job_type=paged&limit=2&page=3');
    const fourth = await ask('/admin/jobs?job_type=paged&limit=2&page=4');
    const beyond = await ask('/admin/jobs?limit=200&page=51');

    expect([first, third, fourth].map(({ body }) => body.items.length)).toEqual([2, 1, 0]);
    expect(beyond.status).toBe(400);
    expect(beyond.body.detail).toContain('next_cursor');
  });

  it.each([
    '?limit=0',
    '?limit=201',
    '?limit=x',
    '?limit=1&limit=2',
    '?status=dead',
    '?job_type=A-B',
    '?colour=red',
    '?created_from=yesterday',
    '?error=%00',
    '?page=0',
  ])('answers 422 for %s', async (query) => {
    const { status, body } = await ask(`/admin/jobs${query}`);

    expect(status).toBe(422);
    expect(body.errors[0]).toMatchObject({ in: 'query' });
  });
});

describe('GET /admin/jobs with a filter', () => {
  const found = async (query: string) => {
    const { body } = await ask(`/admin/jobs?job_type=f_one,f_two&${query}`);
    return body.items.map((job: { job_type: string; status: string }) => `${job.job_type} ${job.status}`);
  };
  beforeAll(async () => {
    await pool.query(`
      insert into millrace.jobs (job_type, routing_key, unique_key, created_at)
        values ('f_one', '', 'u', '2026-01-01Z'), ('f_two', 'fast', null, '2026-01-02Z'), ('f_one', '', null, now());
      insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no, last_error, next_retry_at,
          lease_expires_at, started_at)
        values ('f_one', 'dead_letter', 1, 1, 1, 'Error: DISK full', null, null, null),
               ('f_two', 'failed', 1, 5, 1, 'Error: timeout', now(), null, null),
               ('f_one', 'running', 1, 5, 1, null, null, now(), now());
      insert into millrace.jobs_finished (job_type, slot, status, max_attempts, finished_at)
        values ('f_two', 3, 'succeeded', 5, now())`);
  });

  it.each([
    ['status=dead_letter', ['f_one dead_letter']],
    ['status=failed', ['f_two failed']],
    ['status=running&status=dispatched', ['f_one running']],
    ['status=failed,dead_letter', ['f_two failed', 'f_one dead_letter']],
    ['status=succeeded', ['f_two succeeded']],
    ['routing_key=fast', ['f_two pending']],
    ['unique_key=u', ['f_one pending']],
    ['error=disk', ['f_one dead_letter']],
    ['created_to=2026-01-02T00:00:00Z', ['f_two pending', 'f_one pending']],
    ['created_from=2026-01-02T00:00:00Z&created_to=2026-01-03T01:00:00%2B01:00', ['f_two pending']],
    ['status=cancelled', []],
  ])('finds the jobs of %s', async (query, expected) => {
    expect(await found(query)).toEqual(expected);
  });
});

describe('a page that scans many rows', () => {
  it('contains the only match behind 45,000 newer jobs', async () => {
    const { rows } = await insert('needle', 1);
    await insert('hay', 45_000);

    const { body: first } = await ask('/admin/jobs?job_type=needle');
    const found = await walk('/admin/jobs?job_type=needle');

    expect(first).toMatchObject({ items: [{ id: rows[0].id }], has_more: false });
    expect(found).toEqual([rows[0].id]);
  });

  it('is not needed for a rare status, which has its own index', async () => {
    const { rows } = await pool.query(`
      insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no)
        values ('needle_dead', 'dead_letter', 1, 1, 1) returning id`);
    await insert('hay', 25_000);

    const { body } = await ask('/admin/jobs?status=dead_letter&job_type=needle_dead');

    expect(body.items.map(({ id }: { id: string }) => id)).toEqual([rows[0].id]);
    expect(body.has_more).toBe(false);
  });

  it('contains the only match behind 25,000 newer dead letters', async () => {
    await pool.query(`
      insert into millrace.dead_letters (job_type, last_error) values ('d', 'Error: needle');
      insert into millrace.dead_letters (job_type, last_error) 
        select 'd', 'Error: hay' from generate_series(1, 25000)`);

    const { body: first } = await ask('/admin/dlq?error=needle');
    const found = await walk('/admin/dlq?error=needle');

    expect(first).toMatchObject({ items: [{ last_error: 'Error: needle' }], has_more: false });
    expect(found).toHaveLength(1);
  });
});
