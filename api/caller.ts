import type { Scope } from '../core/access/scopes.ts';

/** The authenticated sender of a request. */
export interface Caller {
  /** The name in the audit log: `key:3 billing`, `iam:arn:aws:…`, `jwt:ada`, `loopback`. */
  readonly name: string;
  /** Distinguishes two callers with the same name: a stored response is replayed only to its own caller. */
  readonly id: string;
  /** Id of the caller's API key; undefined for other credentials. */
  readonly keyId?: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** Facts about a request from the gateway in front of the API; a client cannot set them. */
export interface GatewayFacts {
  readonly requestId?: string | undefined;
  /** ARN of the principal whose signature the gateway has verified. */
  readonly callerArn?: string | undefined;
  /** Claims of the token that the gateway has verified. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
}

/** Returns the caller, undefined when the request carries no credential of this kind, or why it is refused. */
export type Authenticate = (request: Request, facts: GatewayFacts) => Promise<Caller | Refusal | undefined>;

export interface Refusal {
  readonly refused: string;
}
