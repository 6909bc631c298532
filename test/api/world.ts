import { afterAll } from 'vitest';
import * as z from 'zod';
import { type App, createApp } from '../../api/app.ts';
import type { Authenticate } from '../../api/caller.ts';
import { type HandlerSchemas, openHandlerSchemas } from '../../api/handler-schemas.ts';
import type { ApiDeps } from '../../api/route.ts';
import { ROLES, SCOPES, type Scope } from '../../core/access/scopes.ts';
import { defineHandler, type HandlerDefinition } from '../../core/handler/handler.ts';
import { handlerName } from '../../core/handler/naming.ts';
import { openLog } from '../../core/log.ts';
import type { Engine as DatabaseEngine } from '../support/database-engine.ts';
import { deploy, openEngine } from '../support/runtime-engine.ts';
import { expectDocumented } from './conformance.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads the members that it expects
  readonly body: any;
}

export interface Ask {
  readonly method?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged. */
  readonly text?: string | Uint8Array;
  readonly headers?: Record<string, string>;
  /** The caller's scopes. Default: all. */
  readonly scopes?: readonly Scope[];
}

const mail = defineHandler({
  jobType: 'mail',
  payload: z.object({ to: z.string(), n: z.number().optional() }),
  run: async () => undefined,
});

/** Returns the schemas of these handlers, as the bundle of the API has them. */
export function schemasOf(...handlers: readonly HandlerDefinition[]): HandlerSchemas {
  const modules = handlers.map((handler) => [handlerName(handler), async () => ({ default: handler })] as const);
  return openHandlerSchemas(Object.fromEntries(modules));
}

/** Accepts `Scopes <scopes>` as a credential, so that a test chooses the scopes of its caller. */
const byHeader: Authenticate = async (request) => {
  const words = /^Scopes (.*)$/.exec(request.headers.get('authorization') ?? '')?.[1];
  if (words === undefined) return undefined;
  const scopes = SCOPES.filter((scope) => words.split(' ').includes(scope));
  return { name: 'key:operator', id: request.headers.get('x-caller') ?? 'key:1', scopes: new Set(scopes) };
};

/** Opens the API on its own database, without a network. Handler `mail` has a payload schema, `any` has none. */
export async function openApi(changes: Partial<ApiDeps> = {}) {
  const engine = await openEngine({ connections: 4 });
  afterAll(() => engine.close());
  await deploy(
    engine.db,
    { jobType: 'mail' },
    { jobType: 'any' },
    { jobType: 'any', routingKey: 'fast' },
    { jobType: 'keyed', routingKey: 'strict' },
  );
  const woken: string[] = [];
  const deps: ApiDeps = {
    db: engine.db,
    schemas: schemasOf(mail),
    dispatcher: {
      processNow: async (limit = 2) => ({ claimed: limit, sent: 1 }),
      wake: async () => void woken.push('woken'),
    },
    authentication: [byHeader],
    log: engine.log,
    version: '1.2.3',
    ...changes,
  };
  const app = createApp(deps);
  const ask = (path: string, options: Ask = {}) => askApp(app, path, options);
  return { ...engine, engine, app, deps, woken, ask };
}

/** Returns the API on an engine's database and its handler, for a caller with all scopes. */
export function appOf(engine: DatabaseEngine): App {
  return createApp({
    db: engine.db,
    schemas: schemasOf(engine.definition),
    dispatcher: { processNow: async () => ({ claimed: 0, sent: 0 }), wake: async () => undefined },
    authentication: [async () => ({ name: 'key:shop', id: 'key:1', scopes: new Set(SCOPES) })],
    log: openLog(() => undefined),
    version: '1.2.3',
  });
}

/** Sends a request; fails when the OpenAPI document does not describe the answer. */
export async function askApp(app: App, path: string, options: Ask = {}): Promise<Reply> {
  const { method = 'GET', text, headers = {}, scopes = ROLES.admin } = options;
  const content = text ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  const request = new Request(`http://api.example${path}`, {
    method,
    headers: {
      authorization: `Scopes ${scopes.join(' ')}`,
      ...(content !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(content !== undefined && { body: content }),
  });
  const response = await app.fetch(request);
  const answered = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  const body = isJson && answered !== '' ? JSON.parse(answered) : undefined;
  const contentType = response.headers.get('content-type') ?? '';
  expectDocumented({ method, path: path.replace(/\?.*$/, '') }, { status: response.status, contentType, body });
  return { status: response.status, headers: response.headers, text: answered, body };
}
