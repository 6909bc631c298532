import * as z from 'zod';
import { DOCS_POLICY, docsPage } from './docs-page.ts';
import { openApiDocument } from './openapi.ts';
import { defineRoute, type Route } from './route.ts';

const TAG = 'Documentation';

/** The routes that describe all others and themselves. */
export function documentationRoutes(operations: readonly Route[]): Route[] {
  const openapi = defineRoute({
    method: 'get',
    path: '/openapi.json',
    operation: 'getOpenApi',
    tag: TAG,
    summary: 'The contract, as OpenAPI 3.1',
    scope: 'none',
    detached: true,
    answers: { 200: { description: 'The document.', schema: z.record(z.string(), z.unknown()) } },
    run: async ({ deps }) => ({ status: 200, body: openApiDocument(all, deps.version) }),
  });
  const docs = defineRoute({
    method: 'get',
    path: '/docs',
    operation: 'getDocs',
    tag: TAG,
    summary: 'The operations, for people',
    scope: 'none',
    detached: true,
    answers: { 200: { description: 'A page.', mediaType: 'text/html' } },
    run: async ({ deps }) => ({
      status: 200,
      text: docsPage(all, deps.version),
      headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': DOCS_POLICY },
    }),
  });
  const all: Route[] = [...operations, openapi, docs];
  return [openapi, docs];
}
