import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { ROUTES } from '../../api/routes.ts';
import { openApi } from './world.ts';

const { ask } = await openApi();

it('is a valid OpenAPI 3.1 document, open to everybody', async () => {
  const { status, body } = await ask('/openapi.json', { scopes: [] });

  const result = await new Validator().validate(body);

  expect({ status, openapi: body.openapi }).toEqual({ status: 200, openapi: '3.1.0' });
  expect(result).toMatchObject({ valid: true });
});

it('is the contract that was agreed on: a change of it is seen in review', async () => {
  const { body } = await ask('/openapi.json');

  await expect(`${JSON.stringify(body, null, 2)}\n`).toMatchFileSnapshot('./openapi.snap');
});

it('names a Job, a tag for its operations, and every operation once', async () => {
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

it('WEB-01: shows people the operations on a page that can run nothing and load nothing', async () => {
  const { status, headers, text } = await ask('/docs', { scopes: [] });

  expect(status).toBe(200);
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'$/);
  expect(text).not.toMatch(/<script|https?:\/\//);
  for (const { path } of ROUTES) expect(text).toContain(path);
});
