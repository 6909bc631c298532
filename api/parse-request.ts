import * as z from 'zod';
import { suggestName } from '../core/handler/other-words.ts';
import { jsonPointer } from '../core/json.ts';
import type { JsonBody } from './json-body.ts';
import { type Fault, type Faults, faultAt, invalid, joinFaults, MOST_ERRORS, Problem } from './problem.ts';
import type { Route } from './route.ts';

export interface RawRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string[]>>;
  readonly json: JsonBody | undefined;
}

export interface ParsedRequest {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/**
 * Validates the parts of a request.
 * @throws Problem that lists every part that does not match the route's schemas.
 */
export function parseRequest(route: Route, { params, query, json }: RawRequest): ParsedRequest {
  if (json === undefined && route.body !== undefined && !route.bodyOptional) {
    throw new Problem('malformed-request', 'send a JSON body');
  }
  const shape = route.query?.shape ?? {};
  const values = Object.entries(query).map(([name, texts]) => [name, fromText(shape[name], texts)]);
  const parts = [
    { in: 'path', schema: route.params, value: params },
    { in: 'query', schema: route.query ?? NOTHING, value: Object.fromEntries(values) },
    { in: 'body', schema: json === undefined ? undefined : route.body, value: json?.value },
  ] as const;
  const results = parts.map((part) => ({ ...part, result: part.schema?.safeParse(part.value) }));
  const faults = joinFaults([
    repeatedParameters(shape, query),
    ...results.map((part) => toFaults(part.result?.error, { in: part.in, names: namesOf(part.schema) })),
  ]);
  if (faults.total > 0) throw invalid(faults);
  const [path, queried, body] = results.map(({ result }) => result?.data);
  return { params: path, query: queried, body };
}

const NOTHING = z.strictObject({});

/** Returns the members that a schema knows. */
export function namesOf(schema: unknown): readonly string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** The part of a request that a schema has refused. */
export interface RefusedPart {
  readonly in: Fault['in'];
  /** The path to the parsed value. */
  readonly above?: readonly PropertyKey[];
  /** The members that the schema knows. */
  readonly names?: readonly string[];
  /** The largest number of faults to describe: a similar name for each unknown member takes time. */
  readonly most?: number;
}

/** Returns the faults of a schema error with their JSON pointers. */
export function toFaults(error: z.ZodError | undefined, part: RefusedPart): Faults {
  const { in: place, above = [], names = [], most = MOST_ERRORS } = part;
  const shown: Fault[] = [];
  let total = 0;
  for (const issue of error?.issues ?? []) {
    const isUnknown = issue.code === 'unrecognized_keys';
    const paths = isUnknown ? issue.keys.map((key) => [key]) : [[]];
    const known = issue.path.length === 0 ? names : [];
    for (const path of paths.slice(0, most - shown.length)) {
      const detail = isUnknown ? `is unknown${suggestName(`${path[0]}`, known)}` : issue.message;
      shown.push(faultAt(place, jsonPointer([...above, ...issue.path, ...path]), detail));
    }
    total += paths.length;
  }
  return { shown, total };
}

/** Returns a fault for each known parameter that was sent more than once and is not a list. */
function repeatedParameters(shape: z.ZodRawShape, query: RawRequest['query']): Faults {
  const repeated = Object.entries(query).filter(
    ([name, texts]) => texts.length > 1 && name in shape && !(unwrap(shape[name]) instanceof z.ZodArray),
  );
  const detail = 'is a duplicate parameter: send it once';
  return { shown: repeated.map(([name]) => faultAt('query', jsonPointer([name]), detail)), total: repeated.length };
}

/**
 * Converts query values to the schema's type: all of a list, otherwise the first. A value in another format stays text,
 * and the schema refuses it.
 */
function fromText(schema: unknown, values: readonly string[]): unknown {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray) return values.flatMap((value) => value.split(','));
  const [value = ''] = values;
  if (inner instanceof z.ZodNumber && /^-?\d{1,15}(\.\d+)?$/.test(value)) return Number(value);
  if (inner instanceof z.ZodBoolean && /^(true|false)$/.test(value)) return value === 'true';
  return value;
}

function unwrap(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return unwrap(schema.unwrap());
  return schema;
}
