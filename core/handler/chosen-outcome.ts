import { type Duration, seconds } from '../duration.ts';

/** A handler throws (or returns) one of these to choose an outcome other than success or an ordinary failure. */
export abstract class ChosenOutcome extends Error {}

/** The attempt fails and counts; the next one starts after `delay` instead of the policy's own delay. */
export class RetryAfter extends ChosenOutcome {
  override readonly name = 'RetryAfter';
  readonly delaySeconds: number;

  constructor(delay: Duration, reason?: string) {
    super(reason ?? `retry after ${delay}`);
    // A Retry-After header gives seconds as bare digits.
    const bare = typeof delay === 'string' && /^\d+$/.test(delay.trim());
    this.delaySeconds = bare ? Number(delay) : seconds(delay, 'RetryAfter(delay)');
  }
}

/** The handler postpones the job: the job waits for `delay`, and the attempt does not count. */
export class Snooze extends ChosenOutcome {
  override readonly name = 'Snooze';
  readonly delaySeconds: number;

  constructor(delay: Duration, reason?: string) {
    super(reason ?? `snoozed for ${delay}`);
    this.delaySeconds = seconds(delay, 'Snooze(delay)');
  }
}

/** The handler found nothing left to do: the job becomes `skipped`, which is neither success nor failure. */
export class Skip extends ChosenOutcome {
  override readonly name = 'Skip';
}

/** The handler cancels the job, which becomes `cancelled` without a dead letter. */
export class Cancel extends ChosenOutcome {
  override readonly name = 'Cancel';
}

/** Another attempt cannot succeed: the job becomes a dead letter at once. */
export class DeadLetter extends ChosenOutcome {
  override readonly name = 'DeadLetter';
}
