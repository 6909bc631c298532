import { Undo } from '../core/postgres/database.ts';

/** One thing that is wrong with a request. */
export interface Fault {
  /** JSON pointer into the part of the request that `in` names. */
  readonly pointer: string;
  readonly detail: string;
  readonly in: 'body' | 'query' | 'path' | 'header';
}

const TITLES = {
  'malformed-request': [400, 'The request cannot be read'],
  'bad-cursor': [400, 'The cursor is not one of this list'],
  unauthenticated: [401, 'Who are you?'],
  forbidden: [403, 'You may not do this'],
  'not-found': [404, 'There is nothing here'],
  'no-such-path': [404, 'There is no such path'],
  'unknown-job-type': [404, 'No handler for this job'],
  'method-not-allowed': [405, 'Not with this method'],
  'invalid-state': [409, 'Not in this state'],
  'idempotency-key-reused': [409, 'The key stands for another request'],
  'in-progress': [409, 'Somebody else is at it'],
  'precondition-failed': [412, 'It has changed'],
  'payload-too-large': [413, 'The body is too large'],
  'unsupported-media-type': [415, 'The body is not JSON'],
  'validation-failed': [422, 'The request does not hold'],
  'rate-limited': [429, 'Too many requests'],
  'internal-error': [500, 'Something failed here'],
  'dispatcher-unavailable': [503, 'The dispatcher does not answer'],
  'issuer-unavailable': [503, 'The issuer of the tokens does not answer'],
  'database-unavailable': [503, 'The database does not answer'],
  'database-read-only': [503, 'The database takes no changes'],
  'query-timeout': [503, 'The database took too long'],
} as const satisfies Record<string, readonly [number, string]>;

export type ProblemKind = keyof typeof TITLES;

export interface ProblemOptions {
  readonly errors?: readonly Fault[];
  readonly headers?: Readonly<Record<string, string>>;
  /** More members of the answer. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** An answer that is no success; `detail` says what to do. Thrown wherever the work cannot go on. */
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

  /** The document of RFC 9457. */
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

/** A request of which some parts do not hold. */
export function invalid(errors: readonly Fault[]): Problem {
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more: see errors)` : '';
  const place = first === undefined ? '' : `${first.in} ${first.pointer}: ${first.detail}`;
  return new Problem('validation-failed', `${place}${more}`, { errors: errors.slice(0, MOST_ERRORS) });
}

const MOST_ERRORS = 100;

/** One thing in the body that does not hold. */
export function invalidBody(pointer: string, detail: string): Problem {
  return invalid([{ pointer, detail, in: 'body' }]);
}
