import { describe, expect, it } from 'vitest';
import { createApp } from '../../api/app.ts';
import { SCOPES, type Scope } from '../../core/access/scopes.ts';
import { createClient } from '../support/database.ts';
import { insertInState } from './job-states.ts';
import { fillWorld } from './visible-world.ts';
import { askApp, openApi } from './world.ts';

const { ask, app, deps, pool, test } = await openApi();

const post = (key: string, body: unknown = { job_type: 'any' }, caller = 'key:1', on = app) =>
  askApp(on, '/jobs', { method: 'POST', body, headers: { 'idempotency-key': key, 'x-caller': caller } });
const count = async () => (await pool.query('select count(*)::int as n from millrace.jobs')).rows[0].n as number;

describe('UNQ-05: Idempotency-Key', () => {
  it('answers two concurrent requests, and one after a restart, with one job', async () => {
    const before = await count();

    const [one, other] = await Promise.all([post('parallel'), post('parallel')]);
    const later = await post('parallel', undefined, undefined, createApp(deps));

    const replayed = [one, other].filter(({ headers }) => headers.get('idempotency-replayed') === 'true');
    expect([one.status, other.status, later.status]).toEqual([201, 201, 201]);
    expect(one.text).toBe(other.text);
    expect(later.text).toBe(one.text);
    expect(later.headers.get('location')).toBe(`/jobs/${one.body.id}`);
    expect(replayed).toHaveLength(1);
    expect(await count()).toBe(before + 1);
  });

  it('is the same with and without quotes', async () => {
    const bare = await post('quoted');
    const quoted = await post('"quoted"');

    expect(quoted.body.id).toBe(bare.body.id);
  });

  it('answers 409 for a different body', async () => {
    await post('other-body', { job_type: 'any', payload: 1 });

    const { status, body } = await post('other-body', { job_type: 'any', payload: 2 });

    expect({ status, type: body.type }).toEqual({ status: 409, type: '/problems/idempotency-key-reused' });
  });

  it('belongs to one caller', async () => {
    const one = await post('mine', undefined, 'key:1');
    const other = await post('mine', undefined, 'key:2');

    expect(other.status).toBe(201);
    expect(other.body.id).not.toBe(one.body.id);
  });

  it('is free again after a failed request', async () => {
    const bad = await post('corrected', { job_type: 'mail', payload: {} });
    const good = await post('corrected', { job_type: 'mail', payload: { to: 'a' } });

    expect([bad.status, good.status]).toEqual([422, 201]);
  });

  it('stores neither job nor key when the transaction fails between them', async () => {
    await pool.query(`create function pg_temp_fail() returns trigger language plpgsql as
      $$ begin raise exception 'power cut' using errcode = '58000'; end $$;
      create trigger fail before update on millrace.idempotency_keys for each row
        when (new.key = 'crash') execute function pg_temp_fail()`);
    const before = await count();

    const { status } = await post('crash');

    await pool.query('drop trigger fail on millrace.idempotency_keys');
    expect(status).toBe(500);
    expect(await count()).toBe(before);
    expect((await post('crash')).status).toBe(201);
  });

  it('answers 409 while the first request is in progress', async () => {
    const holder = await createClient(test.url);
    await holder.query(`begin; insert into millrace.idempotency_keys values ('key:1', 'held', '', 'null')`);

    const { status, body } = await post('held');

    await holder.query('rollback');
    expect({ status, type: body.type }).toEqual({ status: 409, type: '/problems/in-progress' });
    expect((await post('held')).status).toBe(201);
  });

  it('is free again after 24 hours', async () => {
    const one = await post('old');
    await pool.query("update millrace.idempotency_keys set created_at = now() - interval '25 hours' where key = 'old'");

    const other = await post('old', { job_type: 'any', payload: 'new' });

    expect(other.status).toBe(201);
    expect(other.body.id).not.toBe(one.body.id);
  });

  it.each(['a b', 'x'.repeat(256)])('answers 422 for the invalid key %s', async (key) => {
    expect((await post(key)).status).toBe(422);
  });

  it('works for bulk requests', async () => {
    const headers = { 'idempotency-key': 'bulk' };
    const body = { jobs: [{ job_type: 'any' }] };

    const one = await ask('/jobs/bulk', { method: 'POST', body, headers });
    const other = await ask('/jobs/bulk', { method: 'POST', body, headers });

    expect(other.body.items).toEqual(one.body.items);
    expect(other.headers.get('idempotency-replayed')).toBe('true');
  });
});

describe('a response stored for an Idempotency-Key', () => {
  const headers = { 'idempotency-key': 'once' };

  it('contains only the fields of the current scopes of a caller that has lost a scope', async () => {
    const { deadJob } = await fillWorld(pool);
    const retry = (scopes: Scope[]) => ask(`/admin/jobs/${deadJob}/retry`, { method: 'POST', headers, scopes });

    const first = await retry(['jobs:operate', 'jobs:read', 'payload:read']);
    const viewer = await retry(['jobs:operate', 'jobs:read']);
    const operator = await retry(['jobs:operate']);
    const other = await retry(['jobs:read', 'payload:read']);

    expect(first.body).toMatchObject({ payload: { to: 'payload-words' }, payload_restricted: false });
    for (const reply of [viewer, operator]) {
      expect(reply.headers.get('idempotency-replayed')).toBe('true');
      expect(reply.body).toMatchObject({ id: deadJob, answer: 'redriven', payload_restricted: true });
      expect(reply.text).not.toContain('payload-words');
    }
    expect(viewer.body.unique_key).toContain('unique-words');
    expect(operator.text).not.toContain('unique-words');
    expect(other.status).toBe(403);
  });

  it('contains no more fields than the first response after the caller has gained a scope', async () => {
    const id = await insertInState(pool, 'dead_letter');
    const retry = (scopes: Scope[]) =>
      ask(`/admin/jobs/${id}/retry`, { method: 'POST', headers: { 'idempotency-key': 'more' }, scopes });

    const first = await retry(['jobs:operate']);
    const later = await retry([...SCOPES]);

    expect(later.text).toBe(first.text);
  });
});
