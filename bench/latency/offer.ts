import type { Time } from '../../core/time.ts';

export interface Offer {
  /** Jobs per second. */
  readonly rate: number;
  readonly seconds: number;
  /** Enqueues the job with this number, counted from 0. */
  readonly send: (id: number) => Promise<unknown>;
  readonly time: Time;
  readonly random: () => number;
}

/** Returns how many jobs are offered. */
export function offered({ rate, seconds }: Pick<Offer, 'rate' | 'seconds'>): number {
  return Math.ceil(rate * seconds);
}

/**
 * Enqueues jobs at a rate, whether or not the system keeps up. Each job has a random place in its own part of a second:
 * jobs exactly a second apart would always meet a poll interval of a second at the same point.
 * @throws the first error of `send`, at the end.
 */
export async function offer({ rate, seconds, send, time, random }: Offer): Promise<void> {
  const jobs = offered({ rate, seconds });
  const begun = time.now();
  const failures: unknown[] = [];
  const sent: Promise<unknown>[] = [];
  for (let id = 0; id < jobs; id++) {
    const dueMs = ((id + random()) * 1000) / rate;
    const waitMs = dueMs - (time.now() - begun);
    if (waitMs > 0) await time.sleep(waitMs);
    sent.push(send(id).catch((error: unknown) => failures.push(error)));
  }
  await Promise.all(sent);
  if (failures.length > 0) throw failures[0];
}
