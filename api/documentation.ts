import { createHash } from 'node:crypto';
import * as z from 'zod';
import { openApiDocument } from './openapi.ts';
import { defineRoute, type Route } from './route.ts';

const TAG = 'Documentation';

const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #1d2330; }
  table { border-collapse: collapse; width: 100%; }
  td { border-bottom: 1px solid #d9dee7; padding: 0.4rem 0.8rem 0.4rem 0; vertical-align: top; }
  code { font: 0.95em ui-monospace, monospace; white-space: nowrap; }
  @media (prefers-color-scheme: dark) { body { background: #12151c; color: #e5e9f0; } a { color: #8db7ff; } }`;

/** Allows the page's own style and nothing else: no script, no image, no other host. */
const DOCS_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

/** Returns the routes that describe all routes, themselves included. */
export function documentationRoutes(operations: readonly Route[]): Route[] {
  const openapi = defineRoute({
    method: 'get',
    path: '/openapi.json',
    operation: 'getOpenApi',
    tag: TAG,
    summary: 'Get the OpenAPI 3.1 document',
    scope: 'none',
    detached: true,
    answers: { 200: { description: 'The OpenAPI document.', schema: z.record(z.string(), z.unknown()) } },
    run: async ({ deps }) => ({ status: 200, body: openApiDocument(all, deps.version) }),
  });
  const docs = defineRoute({
    method: 'get',
    path: '/docs',
    operation: 'getDocs',
    tag: TAG,
    summary: 'Get a page that lists the operations',
    scope: 'none',
    detached: true,
    answers: { 200: { description: 'An HTML page.', mediaType: 'text/html' } },
    run: async ({ deps }) => ({
      status: 200,
      text: docsPage(all, deps.version),
      headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': DOCS_POLICY },
    }),
  });
  const all: Route[] = [...operations, openapi, docs];
  return [openapi, docs];
}

/** Returns a page that lists the operations; /openapi.json has their parameters and schemas. */
function docsPage(routes: readonly Route[], version: string): string {
  const sections = [...Map.groupBy(routes, ({ tag }) => tag)].map(
    ([tag, some]) => `<h2>${tag}</h2><table>${some.map(row).join('')}</table>`,
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Millrace API</title>
<meta name="viewport" content="width=device-width"><style>${STYLE}</style></head><body>
<h1>Millrace API ${version}</h1>
<p>The OpenAPI document: <a href="openapi.json">openapi.json</a>. Every error response is an
<code>application/problem+json</code> document; its <code>detail</code> states what to do.</p>
${sections.join('\n')}</body></html>`;
}

function row({ method, path, summary, scope }: Route): string {
  const required = scope === 'none' ? 'no scope' : scope.join(' or ');
  return `<tr><td><code>${method.toUpperCase()} ${path}</code></td><td>${summary}</td><td>${required}</td></tr>`;
}
