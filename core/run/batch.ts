import type { Queues } from '../aws/queues.ts';
import type { HandlerDefinition } from '../handler/handler.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../numbers/emf.ts';
import type { Database } from '../postgres/database.ts';
import type { Time } from '../time.ts';

/** All that running a batch needs from outside. */
export interface BatchDeps {
  readonly definition: HandlerDefinition;
  /** Where the messages come from: its URL is in the registry and in the environment. */
  readonly queueUrl: string;
  readonly db: Database;
  readonly queues: Queues;
  readonly time: Time;
  readonly log: Log;
  readonly random: () => number;
  readonly metrics?: Metrics;
  /** Ends the process at once. */
  readonly exit: () => void;
}

/** What Lambda tells of the invocation. */
export interface Invocation {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** The batch as it goes: which messages stay in SQS, and which of them come back at once. */
export interface Disposal {
  /** Message ids to report as failed. */
  readonly failed: Set<string>;
  /** Receipt handles to make visible. */
  readonly visible: Set<string>;
}

/** Back at once, and a receive more: towards its next start, or towards the dead-letter queue. */
export function bounce(disposal: Disposal, message: { messageId: string; receiptHandle: string }): void {
  disposal.failed.add(message.messageId);
  disposal.visible.add(message.receiptHandle);
}
