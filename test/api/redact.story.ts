import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../api/openapi.ts';
import { FIELDS, WHOLE } from '../../api/redact.ts';
import type { Route } from '../../api/route.ts';
import { ROUTES } from '../../api/routes.ts';
import { SCOPES, type Scope } from '../../core/access/scopes.ts';
import { fillWorld, requestOf, SECRETS } from './visible-world.ts';
import { openApi } from './world.ts';

const { ask, pool } = await openApi();
const closed = ROUTES.filter(({ scope }) => scope !== 'none');
const readersOf = (field: string) =>
  Object.entries(FIELDS).flatMap(([readers, names]) => ((names as readonly string[]).includes(field) ? [readers] : []));

type Json = Record<string, unknown>;

/** Returns the names of all fields of a document, at every depth. */
function fieldsOf(document: unknown): string[] {
  if (Array.isArray(document)) return document.flatMap(fieldsOf);
  if (typeof document !== 'object' || document === null) return [];
  return Object.entries(document).flatMap(([name, value]) => [name, ...(WHOLE.has(name) ? [] : fieldsOf(value))]);
}

/** Returns the names of all fields of the documents of successful responses, at every depth. */
function documentedFields(route: Route): string[] {
  const document = openApiDocument([route], '0.0.0') as {
    paths: Record<string, Record<string, { responses: Record<string, Json> }>>;
    components: { schemas: Record<string, Json> };
  };
  const walk = (schema: unknown): string[] => {
    if (Array.isArray(schema)) return schema.flatMap(walk);
    if (typeof schema !== 'object' || schema === null) return [];
    const { $ref, properties = {}, ...rest } = schema as { $ref?: string; properties?: Json };
    const below = $ref === undefined ? [] : walk(document.components.schemas[$ref.split('/').at(-1) ?? '']);
    const own = Object.entries(properties).flatMap(([name, part]) => [name, ...(WHOLE.has(name) ? [] : walk(part))]);
    return [...below, ...own, ...['anyOf', 'items', 'oneOf'].flatMap((part) => walk((rest as Json)[part]))];
  };
  return Object.entries(document.paths[route.path]![route.method]!.responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, { content }]) => walk((content as Record<string, Json> | undefined)?.['application/json']?.schema));
}

describe('the fields of responses', () => {
  it('each require one scope or none', () => {
    const documented = [...new Set(closed.flatMap(documentedFields))].sort();
    const listed = Object.values(FIELDS).flat().sort();

    expect(listed).toEqual(documented);
  });

  it.each(closed)('of $operation are documented as optional if a caller may lack their scope', async (route) => {
    for (const scope of route.scope as Scope[]) {
      const { method, path, body } = requestOf(route, await fillWorld(pool));

      // `ask` fails when the response does not match its documented schema.
      const { status } = await ask(path, { method, body, scopes: [scope] });

      // The tests of actions cover an action that the caller's scopes do not allow.
      if (status === 403)
        expect({ scope, operation: route.operation }).toEqual({
          scope: 'jobs:delete',
          operation: expect.stringMatching(/^(actOnJobs|(start|pause|resume|cancel)Operation)$/),
        });
      else expect(status).toBeLessThan(300);
    }
  });
});

const callers = closed.flatMap((route) =>
  (route.scope as Scope[]).flatMap((own) =>
    [[own], ...SCOPES.filter((more) => more !== own).map((more) => [own, more]), [...SCOPES]].map((scopes) => ({
      route,
      operation: route.operation,
      scopes: scopes as Scope[],
    })),
  ),
);

it.each(callers)('$operation returns to a caller with $scopes only the fields of these scopes', async (one) => {
  const { route, scopes } = one;
  const { method, path, body } = requestOf(route, await fillWorld(pool));

  const reply = await ask(path, { method, body, scopes });

  const hidden = fieldsOf(reply.status < 300 ? reply.body : {}).filter((field) => {
    const [readers] = readersOf(field);
    return readers !== 'any' && !scopes.includes(readers as Scope);
  });
  expect(hidden).toEqual([]);
  // Does not depend on the table: checks the values that applications and handlers wrote.
  for (const [scope, words] of Object.entries(SECRETS)) {
    if (scopes.includes(scope as Scope)) continue;
    for (const word of words) expect(reply.text).not.toContain(word);
  }
});

describe('a producer', () => {
  const scopes: Scope[] = ['jobs:enqueue'];
  const FORM = [
    ...['id', 'job_type', 'routing_key', 'status', 'priority', 'attempts', 'max_attempts', 'run_at', 'next_retry_at'],
    ...['start_by', 'due_at', 'created_at', 'updated_at', 'started_at', 'finished_at'],
  ];

  it('sees the progress of a job, but no result, error or key', async () => {
    const { doneJob } = await fillWorld(pool);

    const { status, body } = await ask(`/jobs/${doneJob}`, { scopes });

    const more = ['lease_expires_at', 'dispatched_at', 'payload_restricted'];
    expect(status).toBe(200);
    expect(body.payload_restricted).toBe(true);
    expect(Object.keys(body).sort()).toEqual([...FORM, ...more].sort());
  });

  it('sees no error and no group key of an existing job with the same unique_key', async () => {
    const { deadJob } = await fillWorld(pool);
    const asked = { job_type: 'mail', payload: { to: 'ada' }, unique_key: `unique-words ${deadJob}` };

    const { status, body } = await ask('/jobs', { method: 'POST', body: asked, scopes });

    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual([...FORM, 'deduplicated', 'replaced'].sort());
  });
});

it('a viewer sees errors, but no payload and no result', async () => {
  const { doneJob } = await fillWorld(pool);

  const { body } = await ask(`/admin/jobs/${doneJob}`, { scopes: ['jobs:read'] });

  expect(body).toMatchObject({ last_error: 'Error: error-words', payload_restricted: true });
  expect(body).not.toHaveProperty('payload');
  expect(body).not.toHaveProperty('result');
});

it('a caller with payload:read sees payloads and results with exact numbers', async () => {
  const { rows } = await pool.query(
    `insert into millrace.jobs_finished (job_type, slot, status, max_attempts, finished_at, result, payload)
       values ('mail', 3, 'succeeded', 5, now(), '{"secret": 1.10}', '{"filter": {"secret": 12345678901234567890}}')
       returning id`,
  );

  const { text } = await ask(`/jobs/${rows[0].id}`, { scopes: ['jobs:read', 'payload:read'] });

  expect(text).toContain('"result":{"secret":1.10}');
  expect(text).toContain('"payload":{"filter":{"secret":12345678901234567890}}');
  expect(text).toContain('"payload_restricted":false');
});

describe('a filter by a field', () => {
  it.each<[string, string, object, Scope]>([
    ['error', '/admin/dlq/discard?dry_run=true', { error: 'x' }, 'jobs:operate'],
    ['error', '/admin/redrives?dry_run=true', { error: 'x' }, 'jobs:operate'],
    ['group', '/admin/redrives?dry_run=true', { group: 'abcd' }, 'jobs:operate'],
    ['group', '/admin/dlq/discard', { group: 'abcd' }, 'jobs:operate'],
    ['error', '/admin/jobs/actions', { action: 'delete', error: 'x' }, 'jobs:delete'],
    ['unique_key', '/admin/jobs/actions', { action: 'cancel', unique_key: 'x' }, 'jobs:operate'],
  ])('%s of %s requires the scope of the field', async (name, path, body, scope) => {
    const without = await ask(path, { method: 'POST', body, scopes: [scope] });
    const withScope = await ask(path, { method: 'POST', body, scopes: [scope, 'jobs:read'] });

    expect(without).toMatchObject({ status: 403, body: { required_scope: 'jobs:read', your_scopes: [scope] } });
    expect(without.body.detail).toContain(`filter ${name}`);
    expect(withScope.status).toBeLessThan(300);
  });

  it('requires no further scope if every caller sees the field', async () => {
    const body = { job_type: ['mail'] };

    const { status } = await ask('/admin/redrives?dry_run=true', { method: 'POST', body, scopes: ['jobs:operate'] });

    expect(status).toBe(200);
  });
});
