import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../api/app.ts';
import { ROUTES } from '../../api/routes.ts';
import { NEWEST_MIGRATION } from '../../core/access/begin-request.ts';
import { SCOPES } from '../../core/access/scopes.ts';
import { openDatabase } from '../../core/postgres/database.ts';
import { ownMigrations, readMigrations } from '../../core/postgres/migration-files.ts';
import { createClient } from '../support/database.ts';
import { askApp, openApi } from './world.ts';

const { ask, pool, deps, runtimeUrl, test } = await openApi();

/** One request per operation, with an unknown id and an invalid body. */
const requests = ROUTES.map((route) => ({
  name: `${route.method.toUpperCase()} ${route.path}`,
  path: route.path.replace('{id}', '4711'),
  options: { method: route.method.toUpperCase(), ...(route.body && { body: { wrong: true } }) },
  scope: route.scope,
}));
const closed = requests.filter(({ scope }) => scope !== 'none');
const open = requests.filter(({ scope }) => scope === 'none');

it('every route requires a scope, except those that show no data', () => {
  const paths = open.map(({ name }) => name);

  expect(paths).toEqual(['GET /healthz', 'GET /readyz', 'GET /openapi.json', 'GET /docs']);
  for (const { scope } of closed) {
    expect(scope.length).toBeGreaterThan(0);
    for (const one of scope) expect(SCOPES).toContain(one);
  }
});

describe('WEB-03: the API', () => {
  it.each(closed)('answers $name with 401 without a credential', async (request) => {
    const reply = await ask(request.path, { ...request.options, headers: { authorization: '' } });

    expect(reply.status).toBe(401);
    expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer/);
    expect(reply.body).toMatchObject({ type: '/problems/unauthenticated', request_id: expect.any(String) });
  });

  it.each(closed)('answers $name with 401 for an unknown credential', async ({ path, options }) => {
    const headers = { authorization: 'Bearer millrace_1_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' };

    const reply = await ask(path, { ...options, headers });

    expect(reply.status).toBe(401);
  });

  it.each(closed)('answers $name with 403 for a credential without the scope, whatever the id', async (request) => {
    const others = SCOPES.filter((scope) => !request.scope.includes(scope as never));

    const reply = await ask(request.path, { ...request.options, scopes: others });

    expect(reply.status).toBe(403);
    expect(reply.body).toMatchObject({ type: '/problems/forbidden', your_scopes: others });
    expect(request.scope).toContain(reply.body.required_scope.split(' or ')[0]);
  });

  it.each(closed)('accepts each scope of $name by itself', async ({ path, options, scope }) => {
    for (const one of scope) {
      const { status } = await ask(path, { ...options, scopes: [one as never] });

      expect([401, 403]).not.toContain(status);
      expect(status).toBeLessThan(500);
    }
  });

  it.each(open)('answers $name without a credential', async ({ path, options }) => {
    const { status } = await ask(path, { ...options, headers: { authorization: '' } });

    expect(status).toBe(200);
  });

  it.each(['//admin/jobs', '/admin/jobs/', '/admin%2Fjobs', '/ADMIN/jobs', '/admin/../admin/jobs', '/nothing', '/'])(
    'answers %s with 401 without a credential',
    async (path) => {
      const { status } = await ask(path, { headers: { authorization: '' } });

      expect(status).toBe(401);
    },
  );
});

it('an unknown path is answered with 404 and a problem document', async () => {
  const { status, body, headers } = await ask('/nothing');

  expect({ status, type: body.type }).toEqual({ status: 404, type: '/problems/no-such-path' });
  expect(headers.get('x-request-id')).toBe(body.request_id);
});

it('an unsupported method is answered with 405 and the supported ones', async () => {
  const reply = await ask('/admin/jobs/1', { method: 'PATCH' });

  expect(reply.status).toBe(405);
  expect(reply.headers.get('allow')).toBe('GET, DELETE');
});

it('every answer and every log line has the request id', async () => {
  const { headers, body } = await ask('/admin/jobs/4711');

  const id = headers.get('x-request-id');
  const lines = (deps.log as never as { lines: Record<string, unknown>[] }).lines.filter(
    (line) => line.request_id === id,
  );
  expect(body.request_id).toBe(id);
  expect(lines).toMatchObject([{ event: 'http', method: 'GET', path: '/admin/jobs/4711', http_status: 404 }]);
});

describe('GET /readyz', () => {
  it('requires the latest migration in the folder', () => {
    expect(NEWEST_MIGRATION).toBe(readMigrations(ownMigrations()).at(-1)?.name);
  });

  it('answers 503 while the latest migration is missing', async () => {
    await pool.query('delete from millrace.migrations where name = $1', [NEWEST_MIGRATION]);

    const { status, body } = await ask('/readyz');

    await pool.query(`insert into millrace.migrations (name, checksum) values ($1, '')`, [NEWEST_MIGRATION]);
    expect({ status, detail: body.detail }).toEqual({
      status: 503,
      detail: expect.stringContaining('run the migrations'),
    });
  });
});

describe('the API with a failing database', () => {
  const appOn = (connectionString: string) => {
    const db = openDatabase({ connectionString, max: 1, name: 'trouble', log: deps.log, connectTimeoutMs: 2000 });
    onTestFinished(() => db.close());
    return createApp({ ...deps, db });
  };

  it('answers 503 with Retry-After while the database is down, also on /readyz', async () => {
    const app = appOn('postgres://ada:secret@127.0.0.1:1/none');

    const replies = await Promise.all(['/admin/jobs', '/readyz'].map((path) => askApp(app, path)));

    for (const reply of replies) {
      expect(reply.status).toBe(503);
      expect(reply.headers.get('retry-after')).toBe('5');
      expect(reply.body.type).toBe('/problems/database-unavailable');
      expect(reply.text).not.toMatch(/secret|127\.0\.0\.1/);
    }
  });

  it('answers reads while the database is read-only, and 503 to changes', async () => {
    const app = appOn(`${runtimeUrl}?options=-c%20default_transaction_read_only%3Don`);

    const read = await askApp(app, '/admin/jobs');
    const change = await askApp(app, '/jobs', { method: 'POST', body: { job_type: 'any' } });

    expect(read.status).toBe(200);
    expect({ status: change.status, type: change.body.type }).toEqual({
      status: 503,
      type: '/problems/database-read-only',
    });
  });

  it('answers 503 when a lock times out', async () => {
    const holder = await createClient(test.url);
    await holder.query('begin; lock table millrace.handlers in access exclusive mode');

    const { status, body } = await ask('/admin/handlers');

    await holder.query('rollback');
    expect({ status, type: body.type }).toEqual({ status: 503, type: '/problems/query-timeout' });
  });

  it('keeps its connection after an error response', async () => {
    const app = appOn(runtimeUrl);
    const pid = async () => {
      const { rows } = await pool.query(
        "select pid from pg_stat_activity where datname = current_database() and application_name = 'trouble'",
      );
      return rows.map((row) => row.pid as number);
    };
    await askApp(app, '/admin/jobs');
    const before = await pid();

    const { status } = await askApp(app, '/admin/jobs/4711');

    expect(status).toBe(404);
    expect(before).toHaveLength(1);
    expect(await pid()).toEqual(before);
  });
});
