import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'vitest';
import { openApiDocument } from '../../api/openapi.ts';
import { ROUTES } from '../../api/routes.ts';

const document = openApiDocument(ROUTES, '0.0.0') as {
  paths: Record<string, Record<string, { responses: Record<string, { content?: Record<string, unknown> }> }>>;
};
const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addSchema({ $id: 'openapi', ...document });
const checks = new Map<string, ValidateFunction>();

/** Fails unless the OpenAPI document describes this answer of the operation. */
export function expectDocumented(
  asked: { method: string; path: string },
  answered: { status: number; contentType: string; body: unknown },
): void {
  const path = Object.keys(document.paths)
    .sort((one, other) => Number(one.includes('{')) - Number(other.includes('{')))
    .find((template) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(asked.path));
  const method = asked.method.toLowerCase();
  const operation = path === undefined ? undefined : document.paths[path]?.[method];
  // The document describes operations only, not the answers to unknown paths and methods.
  if (path === undefined || operation === undefined) return;
  const status = String(answered.status) in operation.responses ? String(answered.status) : 'default';
  const { content } = operation.responses[status]!;
  if (content === undefined) {
    expect(answered.body).toBeUndefined();
    return;
  }
  const type = answered.contentType.split(';')[0] as string;
  expect(Object.keys(content), `${method} ${path} answered ${answered.status}`).toContain(type);
  if (!type.endsWith('json')) return;
  const place = ['paths', path, method, 'responses', status, 'content', type, 'schema'];
  const check = checkOf(`openapi#/${place.map(escaped).join('/')}`);
  expect(check(answered.body) ? [] : check.errors, JSON.stringify(answered.body)).toEqual([]);
}

function escaped(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function checkOf($ref: string): ValidateFunction {
  const check = checks.get($ref) ?? ajv.compile({ $ref });
  checks.set($ref, check);
  return check;
}
