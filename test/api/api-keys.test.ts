import { describe, expect, it } from 'vitest';
import { createApp } from '../../api/app.ts';
import { apiKeyAuthentication } from '../../api/auth/api-key.ts';
import { makeFirstKey } from '../../api/routes/api-keys.ts';
import { createApiKey } from '../../core/access/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { askApp, openApi } from './world.ts';

const { db, deps, pool } = await openApi();
const app = createApp({ ...deps, authentication: [apiKeyAuthentication(db)] });
const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } });
const SCOPES = ['keys:admin', 'jobs:read', 'jobs:operate', 'audit:read'];
const admin = (expiresInSeconds?: number) => createApiKey(db, { name: 'root', scopes: SCOPES, expiresInSeconds });
const create = (secret: string, more: object = {}) =>
  askApp(app, '/admin/api-keys', {
    method: 'POST',
    body: { name: 'made', scopes: ['keys:admin'], ...more },
    ...bearer(secret),
  });
const works = async (secret: string) => (await askApp(app, '/admin/api-keys', bearer(secret))).status === 200;

describe('a key that another key creates', () => {
  it.each([
    ['without its own end', {}],
    ['that requests a longer lifetime', { expires_in: '90d' }],
  ])('expires with its maker: %s', async (_name, more) => {
    const maker = await admin(60);

    const made = await create(maker.secret, more);
    const grandchild = await create(made.body.secret, more);

    const end = maker.key.expiresAt?.toISOString();
    expect([made.body.expires_at, grandchild.body.expires_at]).toEqual([end, end]);
  });

  it('keeps an earlier expiry of its own', async () => {
    const maker = await admin(3600);

    const { body } = await create(maker.secret, { expires_in: '60s' });

    expect(new Date(body.expires_at).getTime()).toBeLessThan((maker.key.expiresAt as Date).getTime());
  });

  it('never expires if its maker never expires', async () => {
    const { secret } = await admin();

    expect((await create(secret)).body.expires_at).toBeNull();
  });

  it('records its maker', async () => {
    const maker = await admin();

    const { body } = await create(maker.secret);
    const listed = await askApp(app, '/admin/api-keys?limit=1', bearer(maker.secret));

    expect(body.made_by).toBe(maker.key.id);
    expect(listed.body.items[0]).toMatchObject({ id: body.id, made_by: maker.key.id });
    expect(maker.key.madeBy).toBeNull();
  });

  it('is not created if its maker is revoked meanwhile', async () => {
    const { key, secret } = await admin();
    const client = await pool.connect();
    await client.query('begin');
    await client.query('update millrace.api_keys set revoked_at = now(), last_used_at = now() where id = $1', [key.id]);

    const asked = create(secret);
    await eventually(async () => {
      const { rows } = await pool.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      expect(rows.length).toBeGreaterThan(0);
    });
    await client.query('commit');
    client.release();

    expect((await asked).status).toBe(401);
    const { rows } = await pool.query('select from millrace.api_keys where made_by = $1', [key.id]);
    expect(rows).toEqual([]);
  });
});

describe('a revocation', () => {
  const family = async () => {
    const maker = await admin();
    const made = (await create(maker.secret)).body;
    const grandchild = (await create(made.secret)).body;
    return { maker, made, grandchild, other: await admin() };
  };
  const revoke = (id: string, query: string, secret: string) =>
    askApp(app, `/admin/api-keys/${id}${query}`, { method: 'DELETE', ...bearer(secret) });

  it('with_made includes the keys that were created with the key, directly or indirectly', async () => {
    const { maker, made, grandchild, other } = await family();

    const { status } = await revoke(maker.key.id, '?with_made=true', other.secret);

    expect(status).toBe(204);
    const all = await Promise.all([maker.secret, made.secret, grandchild.secret, other.secret].map(works));
    expect(all).toEqual([false, false, false, true]);
  });

  it('with_made includes them even if the key itself was already revoked', async () => {
    const { maker, made, grandchild, other } = await family();

    await revoke(maker.key.id, '', other.secret);
    const before = await works(made.secret);
    const { status } = await revoke(maker.key.id, '?with_made=true', other.secret);

    expect({ before, status }).toEqual({ before: true, status: 204 });
    expect(await Promise.all([made.secret, grandchild.secret].map(works))).toEqual([false, false]);
  });

  it('excludes them by default, so that a key can create its successor', async () => {
    const { maker, made, other } = await family();

    await revoke(maker.key.id, '', other.secret);

    expect(await Promise.all([maker.secret, made.secret].map(works))).toEqual([false, true]);
  });

  it('returns 404 for an unknown key, with and without with_made', async () => {
    const { secret } = await admin();

    const replies = await Promise.all(['', '?with_made=true'].map((query) => revoke('4711', query, secret)));

    expect(replies.map(({ status }) => status)).toEqual([404, 404]);
  });
});

describe('the name of a key', () => {
  it.each(['billing', 'a', 'mail-team 2: ada@example.com', 'x'.repeat(100)])('can be %j', async (name) => {
    const { secret } = await admin();

    expect((await create(secret, { name })).status).toBe(201);
  });

  it.each(['a\u001b[2Jb', 'a\nb', '\u202eab', 'ä', ' a', 'a ', ' ', '', 'x'.repeat(101), 'a\u0000b'])(
    'cannot be %j, in the API or in the table',
    async (name) => {
      const { secret } = await admin();

      const reply = await create(secret, { name });

      expect(reply).toMatchObject({ status: 422, body: { errors: [{ pointer: '/name' }] } });
      await expect(createApiKey(db, { name, scopes: [] })).rejects.toThrow();
    },
  );
});

describe('the audit log', () => {
  it('identifies a key by its id, because two keys can have the same name', async () => {
    const [one, other] = [await admin(), await admin()];

    await askApp(app, '/admin/handlers/mail/pause', { method: 'PUT', ...bearer(one.secret) });
    const listed = (actor: string) =>
      askApp(app, `/admin/audit?actor=${encodeURIComponent(actor)}`, bearer(other.secret));
    const [whole, byId, others, byName] = await Promise.all(
      [`key:${one.key.id} root`, `key:${one.key.id}`, `key:${other.key.id}`, 'key:root'].map(listed),
    );

    const line = { actor: `key:${one.key.id} root`, action: 'pause' };
    expect([whole?.body.items, byId?.body.items]).toMatchObject([[line], [line]]);
    expect([others?.body.items, byName?.body.items]).toEqual([[], []]);
  });

  it('contains the maker of a key, or the invocation that created it', async () => {
    const maker = await admin();
    const made = await create(maker.secret);
    const first = await makeFirstKey(db, { name: 'first', scopes: ['admin'] }, 'request-1');

    const { rows } = await pool.query<{ details: { key: string } }>(
      "select details from millrace.audit_log where action = 'create_key' order by id desc limit 2",
    );

    expect(rows.map(({ details }) => details)).toMatchObject([
      { key: first.id, request_id: 'request-1' },
      { key: made.body.id, made_by: maker.key.id },
    ]);
  });
});

describe('a key that a caller without a key creates', () => {
  it.each(['jwt:ada', 'iam:arn:aws:iam::1:role/ops'])('is found by its maker in the audit log: %s', async (name) => {
    const caller = async () => ({ name, id: name, scopes: new Set(['keys:admin', 'audit:read'] as const) });
    const made = createApp({ ...deps, authentication: [caller] });
    const body = { name: 'made', scopes: ['audit:read'] };

    const key = await askApp(made, '/admin/api-keys', { method: 'POST', body });
    const found = await askApp(made, `/admin/audit?action=create_key&actor=${encodeURIComponent(name)}`);

    expect(found.body.items).toMatchObject([{ actor: name, details: { key: key.body.id, name: 'made' } }]);
  });
});
