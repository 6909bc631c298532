import type { Scope } from '../core/access/scopes.ts';

/** Who asks, once that is known. */
export interface Caller {
  /** As the audit log has it: `key:billing`, `iam:arn:aws:…`, `jwt:ada`, `loopback`. */
  readonly name: string;
  /** Tells two callers of one name apart: what is remembered for one is not told the other. */
  readonly id: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** What the gateway before us says of a request; a client cannot set it. */
export interface GatewayFacts {
  readonly requestId?: string | undefined;
  /** Of the principal whose signature it has verified. */
  readonly callerArn?: string | undefined;
}

/** Answers who sent the request, undefined when it carries no credential of this kind, or why it is refused. */
export type Authenticate = (request: Request, facts: GatewayFacts) => Promise<Caller | Refusal | undefined>;

export interface Refusal {
  readonly refused: string;
}
