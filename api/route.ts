import type * as z from 'zod';
import type { Scope } from '../core/access/scopes.ts';
import type { Dispatched } from '../core/aws/functions.ts';
import type { Log } from '../core/log.ts';
import type { Database, Queryable } from '../core/postgres/database.ts';
import type { Authenticate, Caller, GatewayFacts } from './caller.ts';
import type { HandlerSchemas } from './handler-schemas.ts';
import type { JsonBody } from './json-body.ts';

export interface ApiDeps {
  readonly db: Database;
  /** The schemas that payloads are checked with before a job is stored. */
  readonly schemas: HandlerSchemas;
  readonly dispatcher: {
    /** Runs one round, which claims at most `limit` jobs, and waits for its result. */
    processNow(limit?: number): Promise<Dispatched>;
    /** Requests a round soon; never throws. */
    wake(): Promise<void>;
  };
  /** Ways to authenticate, in order; the first that recognizes the credential decides. */
  readonly authentication: readonly Authenticate[];
  /** Why no key may be created: nothing would read it. Undefined if keys are read. */
  readonly keyRefusal?: string | undefined;
  readonly log: Log;
  readonly version: string;
  /** Reads what a gateway added to the request. */
  readonly gatewayFacts?: (environment: unknown) => GatewayFacts;
}

/** The input of a route: the parts of the request, validated by its schemas. */
export interface ApiRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The body as it was sent; undefined without one. */
  readonly json: JsonBody | undefined;
  readonly caller: Caller;
  /** The caller's trace; undefined without a traceparent header, or when it is malformed. */
  readonly traceparent: string | undefined;
  /** One transaction for everything the route does, with the limits of a request. */
  readonly db: Queryable;
  readonly deps: ApiDeps;
  readonly log: Log;
}

export interface Answer {
  readonly status: number;
  /** A document, sent as JSON. `text` is sent unchanged, with the media type in `headers`. */
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether to wake the dispatcher, since jobs may be due. */
  readonly wake?: boolean;
}

export interface AnswerShape {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Default: JSON. */
  readonly mediaType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One operation: its scope, parameters, responses and work. */
export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** The path, with parameters as in OpenAPI: `/jobs/{id}`. */
  readonly path: string;
  readonly operation: string;
  readonly tag: string;
  readonly summary: string;
  /** Scopes of which the caller must have one; `none` for a public route. */
  readonly scope: readonly Scope[] | 'none';
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Whether the body may be omitted. */
  readonly bodyOptional?: boolean;
  /** The schema to document instead of `body`, where the route itself does a part of the validation. */
  readonly bodyShown?: z.ZodType;
  readonly answers: Readonly<Record<number, AnswerShape>>;
  /** Whether the route accepts an Idempotency-Key. */
  readonly idempotent?: boolean;
  /** Reads the document that If-Match refers to; throws 404 when it is missing. A route without it ignores If-Match. */
  readonly current?: (request: ApiRequest<never, never, never>) => Promise<unknown>;
  /** Whether the jobs that the route enqueues get the caller's traceparent. */
  readonly traced?: boolean;
  /** Whether the route runs outside the request's transaction. */
  readonly detached?: boolean;
  /** The job types whose schemas the route requires: they are loaded before its transaction begins. */
  readonly jobTypes?: (body: never) => readonly unknown[];
  readonly run: (request: ApiRequest<never, never, never>) => Promise<Answer>;
}

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** Defines a route; its schemas give `run` its types. */
export function defineRoute<
  Params extends z.ZodObject | undefined = undefined,
  Query extends z.ZodObject | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  route: Omit<Route, 'run' | 'current' | 'jobTypes' | 'params' | 'query' | 'body'> & {
    params?: Params;
    query?: Query;
    body?: Body;
    run: (request: ApiRequest<Parsed<Params>, Parsed<Query>, Parsed<Body>>) => Promise<Answer>;
    current?: (request: ApiRequest<Parsed<Params>, Parsed<Query>, Parsed<Body>>) => Promise<unknown>;
    jobTypes?: (body: Parsed<Body>) => readonly unknown[];
  },
): Route {
  return route as Route;
}
