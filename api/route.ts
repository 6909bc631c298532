import type * as z from 'zod';
import type { Scope } from '../core/access/scopes.ts';
import type { Dispatched } from '../core/dispatch/dispatch.ts';
import type { HandlerDefinition } from '../core/handler/handler.ts';
import type { Log } from '../core/log.ts';
import type { Database, Queryable } from '../core/postgres/database.ts';
import type { Authenticate, Caller, GatewayFacts } from './caller.ts';
import type { JsonBody } from './json-body.ts';

export interface ApiDeps {
  readonly db: Database;
  /** Handlers whose payloads are checked before they are stored. */
  readonly catalog: readonly HandlerDefinition[];
  readonly dispatcher: {
    /** Has it make a round and waits. */
    processNow(): Promise<Dispatched>;
    /** Has it make one soon; never throws. */
    wake(): Promise<void>;
  };
  /** Tried one after another; the first that knows the credential decides. */
  readonly authentication: readonly Authenticate[];
  readonly log: Log;
  readonly version: string;
  /** Reads what the gateway added to the request, if there is one. */
  readonly gatewayFacts?: (environment: unknown) => GatewayFacts;
}

/** What a route gets: parts that have been checked against its schemas. */
export interface ApiRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** As it was sent; undefined when there was none. */
  readonly json: JsonBody | undefined;
  readonly caller: Caller;
  /** Of the trace in which the caller asks; undefined without one, or when it is malformed. */
  readonly traceparent: string | undefined;
  /** One transaction for everything the route does, with the limits of a request. */
  readonly db: Queryable;
  readonly deps: ApiDeps;
  readonly log: Log;
}

export interface Answer {
  readonly status: number;
  /** A document; what is text already goes out as it is, with the type that `headers` names. */
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** There may be something for the dispatcher to do. */
  readonly wake?: boolean;
}

export interface AnswerShape {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Default: JSON. */
  readonly mediaType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One operation: what it needs, what it takes and gives, and its work. */
export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** With parameters as OpenAPI writes them: `/jobs/{id}`. */
  readonly path: string;
  readonly operation: string;
  readonly tag: string;
  readonly summary: string;
  /** One of these is enough; `none` for what everybody may see. */
  readonly scope: readonly Scope[] | 'none';
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The body can be left out. */
  readonly bodyOptional?: boolean;
  /** What the documentation shows in place of `body`, which leaves a part of the checks to the work. */
  readonly bodyShown?: z.ZodType;
  readonly answers: Readonly<Record<number, AnswerShape>>;
  /** Takes an Idempotency-Key. */
  readonly idempotent?: boolean;
  /** The document that an If-Match is about; 404 when there is none. Without it the header says nothing. */
  readonly current?: (request: ApiRequest<never, never, never>) => Promise<unknown>;
  /** Gives the caller's traceparent to what it makes. */
  readonly traced?: boolean;
  /** Needs no transaction: it asks the database for nothing. */
  readonly detached?: boolean;
  readonly run: (request: ApiRequest<never, never, never>) => Promise<Answer>;
}

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** A route whose work gets the types that its schemas give. */
export function defineRoute<
  Params extends z.ZodObject | undefined = undefined,
  Query extends z.ZodObject | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  route: Omit<Route, 'run' | 'current' | 'params' | 'query' | 'body'> & {
    params?: Params;
    query?: Query;
    body?: Body;
    run: (request: ApiRequest<Parsed<Params>, Parsed<Query>, Parsed<Body>>) => Promise<Answer>;
    current?: (request: ApiRequest<Parsed<Params>, Parsed<Query>, Parsed<Body>>) => Promise<unknown>;
  },
): Route {
  return route as Route;
}
