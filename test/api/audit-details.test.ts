import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { redact } from '../../api/redact.ts';
import { SCOPES, type Scope } from '../../core/access/scopes.ts';
import { openApi } from './world.ts';

const { ask, pool } = await openApi();

type Json = Record<string, unknown>;

describe('the details of an audit event', () => {
  const detailsFor = async (scopes: readonly Scope[]) =>
    (await ask('/admin/audit', { scopes })).body.items.map(({ details }: { details: Json }) => details);

  it('show the filter of a redrive to callers with jobs:read only', async () => {
    const body = { error: 'card 4111', routing_key: '' };
    await ask('/admin/redrives', { method: 'POST', body });

    const [some] = await detailsFor(['audit:read']);
    const [all] = await detailsFor(['audit:read', 'jobs:read']);

    expect(some).toEqual({ operation: expect.anything(), rate: null });
    expect(all).toMatchObject({ ...some, filter: body });
  });

  it('show no other part of a job either', async () => {
    const details = { last_error: 'a', unique_key: 'b', payload: 'c', job_type: 'mail', status: 'failed' };
    await pool.query('insert into millrace.audit_log (action, details) values ($1, $2)', ['any', details]);

    expect((await detailsFor(['audit:read']))[0]).toEqual({ job_type: 'mail', status: 'failed' });
    expect((await detailsFor(SCOPES))[0]).toEqual(details);
  });

  it('show why the database refused the job about a death to callers with jobs:read only', async () => {
    await pool.query(`create function public.refuse() returns trigger language plpgsql as $$
      begin raise exception 'no budget for %', new.payload ->> 'error_message'; end $$`);
    await pool.query(`create trigger refuse before insert on millrace.jobs_live for each row
      when (new.job_type = 'any') execute function public.refuse()`);
    const { rows } = await pool.query(
      `insert into millrace.jobs (job_type, on_dead_letter) values ('mail', 'any') returning id`,
    );
    await pool.query('select millrace.die(array[$1::bigint], array[null], array[$2])', [rows[0].id, 'card 4111']);
    await pool.query('drop trigger refuse on millrace.jobs_live');

    expect((await detailsFor(['audit:read']))[0]).toEqual({});
    expect((await detailsFor(['audit:read', 'jobs:read']))[0]).toEqual({ error: 'no budget for card 4111' });
  });

  it('never show a member that the table of scopes does not list', async () => {
    const details = { note: 'card 4111', error_message: 'card 4112', key: '3' };
    await pool.query('insert into millrace.audit_log (action, details) values ($1, $2)', ['any', details]);

    expect((await detailsFor(['audit:read']))[0]).toEqual({ key: '3' });
    expect((await detailsFor(SCOPES))[0]).toEqual({ key: '3', error_message: 'card 4112' });
  });

  it('have only members that the table of scopes lists', () => {
    const texts = globSync(['migrations/*.sql', 'core/**/*.ts']).map((file) => readFileSync(file, 'utf8'));
    const inserts = texts.flatMap(
      (text) => text.match(/insert into millrace\.audit_log[^;`]*?(?=;|`|\n {2}\))/g) ?? [],
    );
    const objects = inserts.flatMap((text) => text.match(/jsonb_build_object\([^;]*/g) ?? []);
    const names = new Set(objects.flatMap((text) => [...text.matchAll(/'(\w+)', /g)].map(([, name = '']) => name)));

    expect(names.size).toBeGreaterThan(10);
    const details = Object.fromEntries([...names].map((name) => [name, 1]));
    expect(redact({ details }, new Set(SCOPES))).toEqual({ details });
  });

  it('show who made which key', async () => {
    await ask('/admin/api-keys', { method: 'POST', body: { name: 'billing', scopes: ['jobs:read'] } });

    expect((await detailsFor(['audit:read']))[0]).toMatchObject({ name: 'billing', scopes: ['jobs:read'] });
  });
});
