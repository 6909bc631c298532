import { type Duration, seconds } from '../duration.ts';

/** What a handler throws (or returns) when an attempt shall end otherwise than by success or an ordinary failure. */
export abstract class ChosenOutcome extends Error {}

/** Counts as a failed attempt; the next one starts after `delay` in place of the policy's own delay. */
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

/** Not now: the job waits for `delay` and no attempt is counted. */
export class Snooze extends ChosenOutcome {
  override readonly name = 'Snooze';
  readonly delaySeconds: number;

  constructor(delay: Duration, reason?: string) {
    super(reason ?? `snoozed for ${delay}`);
    this.delaySeconds = seconds(delay, 'Snooze(delay)');
  }
}

/** There is nothing to do any more: the job ends `skipped`, which is neither success nor failure. */
export class Skip extends ChosenOutcome {
  override readonly name = 'Skip';
}

/** The job ends `cancelled`, without a dead letter. */
export class Cancel extends ChosenOutcome {
  override readonly name = 'Cancel';
}

/** Trying again cannot help: the job goes to the dead letters at once. */
export class DeadLetter extends ChosenOutcome {
  override readonly name = 'DeadLetter';
}
