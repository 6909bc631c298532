import { randomUUID } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { toJson } from '../core/json.ts';
import type { Log } from '../core/log.ts';
import { authenticate, authorize, authorizeFilters } from './authenticate.ts';
import type { Caller, GatewayFacts } from './caller.ts';
import { answerConditionally, isConditional } from './conditional.ts';
import { databaseProblem } from './database-problem.ts';
import { readJsonBody } from './json-body.ts';
import { parseRequest } from './parse-request.ts';
import { Problem } from './problem.ts';
import type { Answer, ApiDeps, Route } from './route.ts';
import { ROUTES } from './routes.ts';
import { serve } from './serve.ts';

export type App = Hono;

/** Creates the HTTP API: every operation of `ROUTES`, each behind the same gate. */
export function createApp(deps: ApiDeps): App {
  const app = new Hono();
  const paths = [...Map.groupBy(ROUTES, (route) => route.path)];
  // A literal path comes before a path with a parameter that would match it too.
  paths.sort(([one], [other]) => Number(one.includes('{')) - Number(other.includes('{')));
  for (const [path, routes] of paths) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
    for (const route of routes) {
      app.on(route.method.toUpperCase(), pattern, (c) => respond(deps, c, (gate) => pass(deps, route, c, gate)));
    }
    app.all(pattern, (c) => respond(deps, c, (gate) => refuseMethod(deps, routes, c, gate)));
  }
  app.notFound((c) =>
    respond(deps, c, async (gate) => {
      await identify(deps, c, gate);
      throw new Problem('no-such-path', 'see /docs for all paths');
    }),
  );
  return app;
}

interface Gate {
  readonly requestId: string;
  readonly facts: GatewayFacts;
  /** Names the caller on every line once the caller is authenticated. */
  log: Log;
}

const ANONYMOUS: Caller = { name: 'anonymous', id: 'anonymous', scopes: new Set() };

/** Authenticates the caller, checks the scope, validates the request, and only then runs the route. */
async function pass(deps: ApiDeps, route: Route, c: Context, gate: Gate): Promise<Answer> {
  const caller = route.scope === 'none' ? ANONYMOUS : await identify(deps, c, gate);
  authorize(route, caller);
  const json = route.body === undefined ? undefined : await readJsonBody(c.req.raw);
  const parsed = parseRequest(route, { params: c.req.param(), query: c.req.queries(), json });
  authorizeFilters(route, parsed, caller);
  if (route.jobTypes) await deps.schemas.load(new Set(route.jobTypes(parsed.body as never)));
  const answer = await serve(deps, route, { ...parsed, json, caller, request: c.req.raw, log: gate.log });
  return isConditional(route) ? answerConditionally(c.req.raw, answer) : answer;
}

async function identify(deps: ApiDeps, c: Context, gate: Gate): Promise<Caller> {
  const caller = await authenticate(deps, c.req.raw, gate.facts);
  gate.log = gate.log.child({ actor: caller.name });
  return caller;
}

async function refuseMethod(deps: ApiDeps, routes: readonly Route[], c: Context, gate: Gate): Promise<Answer> {
  if (routes.every(({ scope }) => scope !== 'none')) await identify(deps, c, gate);
  const allowed = routes.map(({ method }) => method.toUpperCase()).join(', ');
  throw new Problem('method-not-allowed', `this path accepts ${allowed}`, { headers: { Allow: allowed } });
}

/** Turns the result or the error into a response, with the request's id in the response and in the log. */
async function respond(deps: ApiDeps, c: Context, work: (gate: Gate) => Promise<Answer>): Promise<Response> {
  const facts = deps.gatewayFacts?.(c.env) ?? {};
  const requestId = facts.requestId ?? randomUUID();
  const gate: Gate = { requestId, facts, log: deps.log.child({ request_id: requestId }) };
  const startedAt = performance.now();
  const answer = await work(gate).catch((error: unknown) => toAnswer(error, gate));
  const ms = Math.round(performance.now() - startedAt);
  const { method, path } = c.req;
  const message = `${method} ${path} answered ${answer.status}`;
  gate.log.info('http', { message, method, path, http_status: answer.status, duration_ms: ms });
  return toResponse(answer, requestId);
}

function toAnswer(error: unknown, { requestId, log }: Gate): Answer {
  const problem = error instanceof Problem ? error : (databaseProblem(error) ?? internal(error));
  if (problem.status >= 500) log.error('request_failed', { problem: problem.kind, error: problem.cause });
  const headers = {
    'Content-Type': 'application/problem+json',
    ...(problem.status === 503 && { 'Retry-After': '5' }),
    ...problem.options.headers,
  };
  return { status: problem.status, body: problem.document(requestId), headers };
}

function internal(cause: unknown): Problem {
  return new Problem('internal-error', 'report it with the request_id, which identifies the cause in the log', {
    cause,
  });
}

function toResponse({ status, body, text, headers }: Answer, requestId: string): Response {
  const content = text ?? (body === undefined ? null : toJson(body));
  const isEmpty = status === 204 || status === 304;
  return new Response(isEmpty ? null : content, {
    status,
    headers: {
      ...(!isEmpty && { 'Content-Type': 'application/json' }),
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      ...headers,
      'X-Request-Id': requestId,
    },
  });
}
