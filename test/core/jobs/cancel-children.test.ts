import { describe, expect, it } from 'vitest';
import { decodeMessage } from '../../../core/aws/message.ts';
import { applyCancelRequests, cancel } from '../../../core/jobs/cancel.ts';
import { deleteJob } from '../../../core/jobs/delete.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { fanOut, look } from './family.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });

describe('a request to cancel', () => {
  it.each(['waiting', 'parent'] as const)('the %s job cancels the children that have not started', async (which) => {
    const family = await fanOut(engine, 4);
    await engine.dispatch();
    const running = engine.queues.receive('memory://work', 1);
    const started = decodeMessage(running[0]!.body)!.jobId;
    await engine.sql(
      `update millrace.jobs_live set status = 'running', attempts = 1, started_at = millrace.clock() where id = $1`,
      [started],
    );
    await engine.sql(
      `update millrace.jobs_live set status = 'pending', claim_no = null, lease_expires_at = null where id = $1`,
      [family.children.at(-1)],
    );

    expect(await cancel(engine.db, family[which])).toBe('cancelled');
    await look(engine);

    expect(await engine.state(family.waiting)).toMatchObject({ status: 'cancelled' });
    expect(await engine.state(family.children.at(-1)!)).toMatchObject({
      status: 'cancelled',
      last_error: expect.stringMatching(/^cancelled by .*, with the job \d+ that waited for it$/),
    });
    expect(await engine.state(started)).toMatchObject({ status: 'running' });
    const requests = await engine.sql<{ job_id: string }>('select job_id::text from millrace.cancel_requests');
    const others = family.children.slice(0, -1).filter((id) => id !== started);
    expect(requests.map(({ job_id }) => job_id).toSorted()).toEqual(others.toSorted());
    expect(await engine.sql('select from millrace.job_joins where ended_at is null')).toEqual([]);
  });

  it('2,500 children ends them all, also one whose row is locked', async () => {
    const { children, waiting } = await fanOut(engine, 2_500);
    const other = await createClient(engine.database.url);
    await other.query('begin');
    await other.query('select from millrace.jobs_live where id = $1 for update', [children[7]]);

    await cancel(engine.db, waiting);
    await look(engine);
    await other.query('rollback');

    expect(await engine.sql(`select count(*)::int as n, min(id)::text as id from millrace.jobs_live`)).toEqual([
      { n: 1, id: children[7] },
    ]);
    expect(await engine.sql('select job_id::text as id from millrace.cancel_requests')).toEqual([{ id: children[7] }]);
  });

  it('the waiting job while its row is locked cancels its children, and the job when the lock is gone', async () => {
    const { children, waiting } = await fanOut(engine, 2);
    const other = await createClient(engine.database.url);
    await other.query('begin');
    await other.query('select from millrace.jobs_live where id = $1 for update', [waiting]);

    expect(await cancel(engine.db, waiting)).toBe('requested');
    await look(engine);
    await other.query('rollback');
    expect(await applyCancelRequests(engine.db, 100)).toEqual([waiting]);

    for (const id of children) expect(await engine.state(id)).toMatchObject({ status: 'cancelled' });
  });

  it.each([
    ['cancels one of them', (ids: string[]) => [`select millrace.cancel(${ids[0]})`]],
    ['cancels them in another order', (ids: string[]) => [2, 0].map((n) => `select millrace.cancel(${ids[n]})`)],
    ['withdraws an earlier request', () => ['delete from millrace.cancel_requests']],
  ])('never waits for a transaction that %s', async (_what, statements) => {
    const { children, waiting } = await fanOut(engine, 4);
    await engine.dispatch();
    await engine.sql(
      `update millrace.jobs_live set status = 'pending', claim_no = null, lease_expires_at = null where id = $1`,
      [children[3]],
    );
    await cancel(engine.db, children[1]!);
    const other = await createClient(engine.database.url);
    await other.query('begin');
    for (const statement of statements(children)) await other.query(statement);
    const lines: string[] = [];

    await cancel(engine.db, waiting);
    await look(engine, lines);
    const during = await engine.state(children[3]!);
    await other.query('rollback');
    await look(engine, lines);

    expect(lines).toEqual([]);
    expect(during).toMatchObject({ status: 'cancelled' });
    const requests = await engine.sql<{ job_id: string }>('select job_id::text from millrace.cancel_requests');
    expect(requests.map(({ job_id }) => job_id).toSorted()).toEqual(children.slice(0, 3).toSorted());
    expect(await engine.sql('select from millrace.job_joins where ended_at is null')).toEqual([]);
  });

  it('a parent that is not retained any longer cancels its children', async () => {
    const { parent, children } = await fanOut(engine, 1);
    await engine.sql('delete from millrace.jobs_finished');

    expect(await cancel(engine.db, parent)).toBe('cancelled');
    await look(engine);

    expect(await engine.state(children[0]!)).toMatchObject({ status: 'cancelled' });
    expect(await cancel(engine.db, parent)).toBe('not_found');
  });

  it('a parent whose children have all finished is too late', async () => {
    const { parent } = await fanOut(engine, 0);
    await look(engine);

    expect(await cancel(engine.db, parent)).toBe('finished');
  });
});

it.each([
  ['deleted', (id: string) => deleteJob(engine.db, id)],
  ['skipped', (id: string) => engine.sql('select millrace.finish_late(array[$1::bigint])', [id])],
  ['removed by hand', (id: string) => engine.sql('delete from millrace.jobs_live where id = $1', [id])],
])('a waiting job that was %s does not count as due when its children have ended', async (_how, end) => {
  const { children, waiting } = await fanOut(engine, 1);
  await end(waiting);
  await cancel(engine.db, children[0]!);
  const lines: string[] = [];

  expect(await look(engine, lines)).toBe(0);

  expect(lines).toEqual([]);
  expect(await engine.sql('select from millrace.job_joins where ended_at is null')).toEqual([]);
});
