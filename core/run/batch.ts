import type { Queues } from '../aws/queues.ts';
import type { HandlerDefinition } from '../handler/handler.ts';
import { OVERRUN_SECONDS, SETTLE_RESERVE_SECONDS } from '../handler/timing.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../numbers/emf.ts';
import type { Database } from '../postgres/database.ts';
import type { NamedValues } from '../settings/named-values.ts';
import type { Time } from '../time.ts';
import type { UncaughtErrors } from './uncaught-errors.ts';
import type { Watchdog } from './watchdog.ts';

/** The dependencies of a batch. */
export interface BatchDeps {
  readonly definition: HandlerDefinition;
  /** URL of the source queue, from the environment; the registry stores it too. */
  readonly queueUrl: string;
  readonly db: Database;
  readonly queues: Queues;
  readonly time: Time;
  readonly log: Log;
  readonly random: () => number;
  readonly metrics?: Metrics;
  /** Whether the start of each attempt is logged. */
  readonly logJobStarts?: boolean;
  /** The errors of this process that no code awaits or catches; absent: they end it at once. */
  readonly uncaught?: UncaughtErrors;
  /** Reads the settings and secrets that the definition names; absent: it names none. */
  readonly readValues?: () => Promise<NamedValues>;
  /** What was read before the jobs of the batch started. */
  readonly values?: NamedValues | undefined;
  /** The thread that stores outcomes if this thread is blocked. */
  readonly watchdog?: Watchdog;
  /** Ends the process at once. */
  readonly exit: () => void;
}

/** The part of Lambda's context that a batch uses. */
export interface Invocation {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** The messages of a batch that stay in SQS, and those of them that become visible at once. */
export interface Disposal {
  /** Ids of the messages to report as failed. */
  readonly failed: Set<string>;
  /** Receipt handles of the messages to make visible. */
  readonly visible: Set<string>;
}

/** Makes a message visible at once. Each bounce adds a receive, until SQS moves it to the dead-letter queue. */
export function bounce(disposal: Disposal, message: { messageId: string; receiptHandle: string }): void {
  disposal.failed.add(message.messageId);
  disposal.visible.add(message.receiptHandle);
}

/** Returns whether the invocation has time for the handler's timeout and the reserve. */
export function fits({ definition }: BatchDeps, invocation: Invocation, pauseMs = 0): boolean {
  const needed = definition.timeoutSeconds + OVERRUN_SECONDS + SETTLE_RESERVE_SECONDS;
  return invocation.getRemainingTimeInMillis() - pauseMs >= needed * 1000;
}
