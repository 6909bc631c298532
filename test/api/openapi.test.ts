import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { ROUTES } from '../../api/routes.ts';
import { openApi } from './world.ts';

const { ask } = await openApi();

it('GET /openapi.json returns a valid OpenAPI 3.1 document without a credential', async () => {
  const { status, body } = await ask('/openapi.json', { scopes: [] });

  const result = await new Validator().validate(body);

  expect({ status, openapi: body.openapi }).toEqual({ status: 200, openapi: '3.1.0' });
  expect(result).toMatchObject({ valid: true });
});

it('the OpenAPI document matches its snapshot, so that a review shows every change', async () => {
  const { body } = await ask('/openapi.json');

  await expect(`${JSON.stringify(body, null, 2)}\n`).toMatchFileSnapshot('./openapi.snap');
});

it('the OpenAPI document names every schema, tag and operation once', async () => {
  const { body } = await ask('/openapi.json');

  const names = ROUTES.map(({ operation }) => operation);
  expect(body.components.schemas.Job.properties).toMatchObject({
    id: { type: 'string' },
    job_type: { type: 'string' },
  });
  expect(body.paths['/jobs'].post.tags).toEqual(['Jobs']);
  expect(new Set(names).size).toBe(names.length);
  expect(JSON.stringify(body)).not.toContain('#/$defs/');
});

it('WEB-01: GET /docs lists the operations on a page without scripts and external resources', async () => {
  const { status, headers, text } = await ask('/docs', { scopes: [] });

  expect(status).toBe(200);
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'$/);
  expect(text).not.toMatch(/<script|https?:\/\//);
  for (const { path } of ROUTES) expect(text).toContain(path);
});
