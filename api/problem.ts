import { Undo } from '../core/postgres/statement-errors.ts';
import { startOf } from '../core/text.ts';

/** One error in a request. */
export interface Fault {
  /** JSON pointer into the part of the request named by `in`. */
  readonly pointer: string;
  readonly detail: string;
  readonly in: 'body' | 'query' | 'path' | 'header';
}

const TITLES = {
  'malformed-request': [400, 'The request is malformed'],
  'bad-cursor': [400, 'The cursor is invalid'],
  unauthenticated: [401, 'Authentication required'],
  forbidden: [403, 'Permission denied'],
  'not-found': [404, 'Not found'],
  'no-such-path': [404, 'Unknown path'],
  'unknown-job-type': [404, 'Unknown job type'],
  'method-not-allowed': [405, 'Method not allowed'],
  'invalid-state': [409, 'The state does not allow this operation'],
  'idempotency-key-reused': [409, 'The Idempotency-Key belongs to another request'],
  'in-progress': [409, 'Another request is in progress'],
  'precondition-failed': [412, 'The resource has changed'],
  'payload-too-large': [413, 'The body is too large'],
  'unsupported-media-type': [415, 'The body is not JSON'],
  'validation-failed': [422, 'The request is invalid'],
  'rate-limited': [429, 'Too many requests'],
  'internal-error': [500, 'Internal error'],
  'dispatcher-unavailable': [503, 'The dispatcher is unavailable'],
  'issuer-unavailable': [503, 'The token issuer is unavailable'],
  'database-unavailable': [503, 'The database is unavailable'],
  'database-read-only': [503, 'The database is read-only'],
  'schema-unavailable': [503, 'The payload schema is unavailable'],
  'query-timeout': [503, 'The database query timed out'],
} as const satisfies Record<string, readonly [number, string]>;

export type ProblemKind = keyof typeof TITLES;

export interface ProblemOptions {
  readonly errors?: readonly Fault[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Additional members of the problem document. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** An error response. `detail` states what to do. Routes throw it if the work cannot continue. */
export class Problem extends Undo {
  override readonly name = 'Problem';
  readonly kind: ProblemKind;
  readonly options: ProblemOptions;

  constructor(kind: ProblemKind, detail: string, options: ProblemOptions = {}) {
    super(detail, { cause: options.cause });
    this.kind = kind;
    this.options = options;
  }

  get status(): number {
    return TITLES[this.kind][0];
  }

  /** Returns the problem document of RFC 9457. */
  document(requestId: string): Record<string, unknown> {
    const { errors, extra } = this.options;
    return {
      type: `/problems/${this.kind}`,
      title: TITLES[this.kind][1],
      status: this.status,
      detail: this.message,
      request_id: requestId,
      ...extra,
      ...(errors && { errors }),
    };
  }
}

/** The faults of a part of a request: the first ones, and how many there are in all. */
export interface Faults {
  readonly shown: readonly Fault[];
  readonly total: number;
}

/** The largest number of errors in a response. A body of 2 MiB can contain hundreds of thousands. */
export const MOST_ERRORS = 100;
/** The longest pointer or detail in a response, in characters: an unknown key can be as long as the body. */
const LONGEST_TEXT = 1000;

/** Returns the faults of several parts as those of one. */
export function joinFaults(parts: readonly Faults[]): Faults {
  const shown = parts.flatMap((part) => part.shown).slice(0, MOST_ERRORS);
  return { shown, total: parts.reduce((sum, part) => sum + part.total, 0) };
}

/** Returns a fault that a response can contain, however long the keys of the request are. */
export function faultAt(place: Fault['in'], pointer: string, detail: string): Fault {
  return { in: place, pointer: cut(pointer), detail: cut(detail) };
}

function cut(text: string): string {
  return text.length <= LONGEST_TEXT ? text : `${startOf(text, LONGEST_TEXT)}…`;
}

/** Returns the problem for a request with invalid parts. */
export function invalid({ shown, total }: Faults): Problem {
  const [first] = shown;
  const more = total > 1 ? ` (and ${total - 1} more: see errors)` : '';
  const told = first === undefined ? '' : describeFault(first);
  return new Problem('validation-failed', `${told}${more}`, { errors: shown });
}

/** Describes a fault with its place; an empty pointer is the whole part. */
function describeFault({ in: part, pointer, detail }: Fault): string {
  return pointer === '' ? `${part}: ${detail}` : `${part} ${pointer}: ${detail}`;
}

/** Returns a fault as the faults of a request. */
export function oneFault(fault: Fault): Faults {
  return { shown: [fault], total: 1 };
}

/** Returns the problem for one invalid part of the body. */
export function invalidBody(pointer: string, detail: string): Problem {
  return invalid(oneFault(faultAt('body', pointer, detail)));
}

/** The first and the last time of an interval, each by the name of its parameter. */
type Bounds = Readonly<Record<string, string | undefined>>;

/** @throws Problem that names both times if the last one, which is named second, is before the first one. */
export function refuseReversed(place: Fault['in'], bounds: Bounds): void {
  const [first, last] = Object.entries(bounds);
  if (first?.[1] === undefined || last?.[1] === undefined || new Date(last[1]) >= new Date(first[1])) return;
  const detail = `${last[1]} is before ${first[0]}, ${first[1]}: no time is between them`;
  throw invalid(oneFault(faultAt(place, `/${last[0]}`, detail)));
}
