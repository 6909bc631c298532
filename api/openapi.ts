import * as z from 'zod';
import { SCOPES } from '../core/access/scopes.ts';
import { isConditional } from './conditional.ts';
import type { AnswerShape, Route } from './route.ts';
import { ProblemDocument } from './schemas.ts';

type Json = Record<string, unknown>;

/** Returns the OpenAPI 3.1 document of these routes, from the schemas that validate requests and describe responses. */
export function openApiDocument(routes: readonly Route[], version: string): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: operation(route, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Millrace', version, description: 'Background jobs on Postgres, SQS and Lambda.' },
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: `An API key or a token, with scopes: ${SCOPES.join(', ')}.`,
        },
      },
    },
  };
}

function operation(route: Route, schemas: Json): Json {
  const body = route.bodyShown ?? route.body;
  return {
    operationId: route.operation,
    tags: [route.tag],
    summary: route.summary,
    ...(route.scope === 'none'
      ? { security: [] }
      : { security: [{ bearer: [] }], description: `Requires the scope ${route.scope.join(' or ')}.` }),
    parameters: parameters(route, schemas),
    ...(body && {
      requestBody: {
        required: route.bodyOptional !== true,
        content: { 'application/json': { schema: toSchema(body, schemas, 'input') } },
      },
    }),
    responses: responses(route, schemas),
  };
}

function parameters(route: Route, schemas: Json): Json[] {
  const places = [
    { place: 'path', shape: route.params?.shape ?? {} },
    { place: 'query', shape: route.query?.shape ?? {} },
  ];
  const named = places.flatMap(({ place, shape }) =>
    Object.entries(shape).map(([name, part]) => {
      const schema = part as z.ZodType;
      const required = place === 'path' || !schema.safeParse(undefined).success;
      const { description, ...rest } = toSchema(schema, schemas, 'input');
      return { name, in: place, required, ...(description !== undefined && { description }), schema: rest };
    }),
  );
  return [
    ...named,
    ...(route.idempotent ? [IDEMPOTENCY_KEY] : []),
    ...(route.traced ? [TRACEPARENT] : []),
    ...(isConditional(route) ? [IF_NONE_MATCH] : []),
    ...(route.current ? [IF_MATCH] : []),
  ];
}

const IF_NONE_MATCH = header(
  'If-None-Match',
  'ETags of cached responses: the response is 304 without a body when one of them is current.',
);
const IF_MATCH = header(
  'If-Match',
  'The ETag of the job when you read it: the response is 412 when the job has changed since.',
);
const TRACEPARENT = header(
  'traceparent',
  'The W3C trace context of the caller; attempts link to it. A malformed value is ignored.',
);
const IDEMPOTENCY_KEY = header(
  'Idempotency-Key',
  'A repeated request with the same key gets the same response for 24 hours; a different request gets a 409.',
  '^[!-~]{1,255}$',
);

function header(name: string, description: string, pattern?: string): Json {
  return { name, in: 'header', required: false, description, schema: { type: 'string', ...(pattern && { pattern }) } };
}

/** Responses of every authenticated operation, in addition to its own. */
const GATE = {
  401: { description: 'The credential is missing or invalid.' },
  403: { description: 'The credential lacks the scope.' },
};

/** Returns the responses that follow from the parameters of an operation. */
function partAnswers(route: Route): Record<string, AnswerShape> {
  const { params, query, body, idempotent } = route;
  return {
    ...(isConditional(route) && {
      304: { description: 'Not modified: an ETag in If-None-Match is current.', headers: ETAG },
    }),
    ...(route.current && { 412: { description: 'The job does not match If-Match.' } }),
    ...((params || query || body) && { 422: { description: 'The request is invalid: see errors.' } }),
    ...((query || body) && { 400: { description: 'The request is malformed, or its cursor is invalid.' } }),
    ...(body && { 413: { description: 'The body is too large.' }, 415: { description: 'The body is not JSON.' } }),
    ...(idempotent && {
      409: { description: 'The Idempotency-Key belongs to another request, or to a request in progress.' },
    }),
  };
}

function responses(route: Route, schemas: Json): Json {
  const { answers, scope } = route;
  const problem = { 'application/problem+json': { schema: toSchema(ProblemDocument, schemas, 'output') } };
  const all: Record<string, AnswerShape> = { ...(scope === 'none' ? {} : GATE), ...partAnswers(route), ...answers };
  const own = Object.entries(all).map(([status, { description, schema, mediaType = 'application/json', headers }]) => {
    const success = { [mediaType]: { schema: schema === undefined ? {} : toSchema(schema, schemas, 'output') } };
    const content = Number(status) >= 400 ? problem : success;
    const tagged = status === '200' && isConditional(route) ? { ...headers, ...ETAG } : headers;
    const fields = Object.entries(tagged ?? {}).map(([name, what]) => [name, { description: what, schema: TEXT }]);
    return [
      status,
      {
        description,
        ...(fields.length > 0 && { headers: Object.fromEntries(fields) }),
        ...(status !== '204' && status !== '304' && { content }),
      },
    ] as const;
  });
  const others = {
    description: 'The API or the database failed: see detail. A gateway in front of the API sends a message instead.',
    content: { ...problem, 'application/json': { schema: GATEWAY_ANSWER } },
  };
  return { ...Object.fromEntries(own), default: others };
}

const TEXT = { type: 'string' };
/** API Gateway itself refuses some requests: too many at once, or headers beyond 10,240 bytes. */
const GATEWAY_ANSWER = { type: 'object', properties: { message: TEXT }, required: ['message'] };
const ETAG = { ETag: 'Identifies this version of the document.' };

/** Converts a schema to JSON Schema; named schemas go to the components. */
function toSchema(schema: z.ZodType, schemas: Json, io: 'input' | 'output'): Json {
  const text = JSON.stringify(z.toJSONSchema(z.object({ schema }), { io })).replaceAll(
    '#/$defs/',
    '#/components/schemas/',
  );
  const { $defs = {}, properties } = JSON.parse(text) as { $defs?: Json; properties: { schema: Json } };
  for (const [name, { id: _id, ...definition }] of Object.entries($defs as Record<string, Json>)) {
    schemas[name] = definition;
  }
  return properties.schema;
}
