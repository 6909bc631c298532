import { type Duration, seconds } from '../duration.ts';
import { type RetryTime, retryAfterSeconds } from './retry-after.ts';

/**
 * Marks an outcome. A handler can import a different copy of this package than the copy that runs it, and `instanceof`
 * would not recognise that copy's classes; all copies share this symbol.
 */
const OUTCOME = Symbol.for('millrace.outcome');

const KINDS = ['retry_after', 'snoozed', 'skipped', 'cancelled', 'dead_letter'] as const;
type Kind = (typeof KINDS)[number];

/** What a handler chose, and for `retry_after` and `snoozed` the delay, if it states one. */
export interface Choice {
  readonly kind: Kind;
  readonly delaySeconds: number | undefined;
}

/** Returns what a handler chose by throwing or returning `value`, or undefined if it chose nothing. */
export function choiceOf(value: unknown): Choice | undefined {
  // Most runs return nothing; an exception for each of them would cost more than the rest of an attempt.
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    const { [OUTCOME]: mark, delaySeconds } = value as { [OUTCOME]?: unknown; delaySeconds?: unknown };
    const kind = KINDS.find((one) => one === mark);
    const isDelay = typeof delaySeconds === 'number' && delaySeconds >= 0;
    return kind && { kind, delaySeconds: isDelay ? delaySeconds : undefined };
  } catch {
    // A proxy that throws.
    return undefined;
  }
}

/** A handler throws (or returns) one of these to choose an outcome other than success or an ordinary failure. */
abstract class ChosenOutcome extends Error {
  abstract readonly [OUTCOME]: Kind;
}

/**
 * The attempt fails and counts. The next one starts after `delay` instead of the policy's own delay, at least 0 and at
 * most a year. `delay` can be the value of a `Retry-After` header: if the header is absent or unreadable, the policy's
 * delay applies.
 */
export class RetryAfter extends ChosenOutcome {
  override readonly name = 'RetryAfter';
  readonly [OUTCOME] = 'retry_after';
  /** Undefined if `delay` states no time. */
  readonly delaySeconds: number | undefined;

  /** @param reason what the server refused, or its error: the job's `last_error`. */
  constructor(delay: RetryTime, reason?: string | Error) {
    const wait = retryAfterSeconds(delay);
    super(reasonText(reason) ?? (wait === undefined ? "retry after the policy's delay" : `retry after ${wait} s`), {
      ...(reason instanceof Error && { cause: reason }),
    });
    this.delaySeconds = wait;
  }
}

function reasonText(reason: string | Error | undefined): string | undefined {
  return reason instanceof Error ? reason.message : reason;
}

/** The handler postpones the job: the job waits for `delay`, and the attempt does not count. */
export class Snooze extends ChosenOutcome {
  override readonly name = 'Snooze';
  readonly [OUTCOME] = 'snoozed';
  readonly delaySeconds: number;

  constructor(delay: Duration, reason?: string) {
    super(reason ?? `snoozed for ${delay}`);
    this.delaySeconds = seconds(delay, 'Snooze(delay)');
  }
}

/** The handler found nothing left to do: the job becomes `skipped`, which is neither success nor failure. */
export class Skip extends ChosenOutcome {
  override readonly name = 'Skip';
  readonly [OUTCOME] = 'skipped';
}

/** The handler cancels the job, which becomes `cancelled` without a dead letter. */
export class Cancel extends ChosenOutcome {
  override readonly name = 'Cancel';
  readonly [OUTCOME] = 'cancelled';
}

/** Another attempt cannot succeed: the job becomes a dead letter at once. */
export class DeadLetter extends ChosenOutcome {
  override readonly name = 'DeadLetter';
  readonly [OUTCOME] = 'dead_letter';
}
