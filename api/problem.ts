import { Undo } from '../core/postgres/statement-errors.ts';

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

/** Returns the problem for a request with invalid parts. */
export function invalid(errors: readonly Fault[]): Problem {
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more: see errors)` : '';
  const told = first === undefined ? '' : describeFault(first);
  return new Problem('validation-failed', `${told}${more}`, { errors: errors.slice(0, MOST_ERRORS) });
}

/** Describes a fault with its place; an empty pointer is the whole part. */
function describeFault({ in: part, pointer, detail }: Fault): string {
  return pointer === '' ? `${part}: ${detail}` : `${part} ${pointer}: ${detail}`;
}

const MOST_ERRORS = 100;

/** Returns the problem for one invalid part of the body. */
export function invalidBody(pointer: string, detail: string): Problem {
  return invalid([{ pointer, detail, in: 'body' }]);
}
