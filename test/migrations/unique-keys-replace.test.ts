import { describe, expect, it, onTestFinished } from 'vitest';
import { claim } from '../../core/jobs/claim.ts';
import { createClient } from '../support/database.ts';
import { openUniqueWorld } from './unique-world.ts';

const { pool, db, appUrl, enqueue, move } = await openUniqueWorld();

describe(`on_conflict => 'replace'`, () => {
  const OLD = `unique_key => 'k', unique_until => 'dispatched'`;
  const NEW = `unique_key => 'k', priority => 1, max_attempts => 9, group_key => 'g', on_dead_letter => 'report',
    run_at => '2031-01-01', start_by => '2031-01-02', traceparent => 't', on_conflict => 'replace'`;
  const columns = `payload, priority, max_attempts, group_key, on_dead_letter, traceparent, run_at::date::text as run,
    start_by::date::text as latest, status`;

  it.each([
    [`unique_key => 'k'`],
    [OLD],
    [`unique_key => 'k', unique_until => 'dead_letter'`],
    [`unique_key => 'k', unique_for => '1h'`],
  ])('gives the waiting job with %s the payload and options, and no other job', async (old) => {
    const first = await enqueue(old, { n: 1 });

    const second = await enqueue(NEW, { n: 2 });

    expect(second).toEqual({ id: first.id, deduplicated: true, replaced: true });
    const { rows } = await pool.query(`select ${columns} from millrace.jobs`);
    expect(rows).toEqual([
      {
        ...{ payload: { n: 2 }, priority: 1, max_attempts: 9, group_key: 'g', on_dead_letter: 'report' },
        ...{ traceparent: 't', run: '2031-01-01', latest: '2031-01-02', status: 'pending' },
      },
    ]);
    const events = await pool.query(`select sum(count)::int as n from millrace.job_events where event = 'enqueued'`);
    expect(events.rows).toEqual([{ n: 1 }]);
  });

  it.each(['dispatched', 'running', 'failed', 'dead_letter'] as const)(
    'does not change a job that is %s',
    async (status) => {
      const first = await enqueue(`unique_key => 'k'`, { n: 1 });
      await move(status);

      expect(await enqueue(NEW, { n: 2 })).toEqual({ id: first.id, deduplicated: true, replaced: false });
      expect((await pool.query('select payload from millrace.jobs')).rows).toEqual([{ payload: { n: 1 } }]);
    },
  );

  it(`with unique_until => 'dispatched', inserts another job after the dispatch: no payload is lost`, async () => {
    await enqueue(OLD, { n: 1 });
    await move('dispatched');

    const second = await enqueue(`${OLD}, on_conflict => 'replace'`, { n: 2 });
    const third = await enqueue(`${OLD}, on_conflict => 'replace'`, { n: 3 });

    expect(second).toMatchObject({ deduplicated: false });
    expect(third).toEqual({ id: second.id, deduplicated: true, replaced: true });
    const { rows } = await pool.query('select payload, status from millrace.jobs order by id');
    expect(rows).toEqual([
      { payload: { n: 1 }, status: 'dispatched' },
      { payload: { n: 3 }, status: 'pending' },
    ]);
  });

  it('resets the attempts to those of the handler', async () => {
    await enqueue(`unique_key => 'k', max_attempts => 9`);
    await enqueue(`unique_key => 'k', on_conflict => 'replace'`);

    expect((await pool.query('select max_attempts from millrace.jobs')).rows).toEqual([{ max_attempts: 3 }]);
  });

  it('measures the payload of a job that came back from a dispatch', async () => {
    await enqueue(`unique_key => 'k'`, { n: 1 });
    await pool.query('update millrace.jobs_live set claim_no = 1');

    await expect(enqueue(NEW, 'x'.repeat(1_048_577))).rejects.toThrow('payload is at most 1 MiB');
  });

  it('lets many callers replace at once; one payload is left', async () => {
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, (_, n) => enqueue(`${OLD}, on_conflict => 'replace'`, { n })),
    );

    expect(verdicts.filter(({ replaced }) => replaced)).toHaveLength(19);
    expect((await pool.query('select count(*)::int as n from millrace.jobs')).rows).toEqual([{ n: 1 }]);
  });
});

describe(`unique_until => 'dispatched'`, () => {
  it.each(['skip', 'replace'])('with %s, the job is not claimed before the transaction commits', async (conflict) => {
    const options = `unique_key => 'k', unique_until => 'dispatched', on_conflict => '${conflict}'`;
    const { id } = await enqueue(options);
    const client = await createClient(appUrl);
    onTestFinished(() => client.query('rollback').then(() => undefined));
    await client.query('begin');
    await enqueue(options, {}, client);

    const during = await claim(db, 10);
    await client.query('commit');
    const after = await claim(db, 10);

    expect(during).toEqual([]);
    expect(after).toMatchObject([{ id }]);
  });

  it('two transactions that skip do not wait for each other', async () => {
    const options = `unique_key => 'k', unique_until => 'dispatched'`;
    const { id } = await enqueue(options);
    const clients = [await createClient(appUrl), await createClient(appUrl)];
    for (const client of clients) {
      await client.query(`begin; set local lock_timeout = '1ms'`);
      expect(await enqueue(options, {}, client)).toMatchObject({ id, deduplicated: true });
    }
    for (const client of clients) await client.query('commit');
  });
});
