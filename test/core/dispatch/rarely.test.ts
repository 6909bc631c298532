import { expect, it } from 'vitest';
import { openRarely } from '../../../core/dispatch/rarely.ts';
import { stillTime } from '../../support/still-time.ts';

/** Calls work of this duration every second for a minute, and returns when it ran. */
async function timesOf(workMs: number, work: () => Promise<boolean>): Promise<number[]> {
  const time = stillTime();
  const rarely = openRarely(time);
  const times: number[] = [];
  while (time.at < 60_000) {
    const next = time.at + 1000;
    await rarely(async () => {
      times.push(time.at / 1000);
      time.at += workMs;
      return work();
    }).catch(() => undefined);
    time.at = Math.max(next, time.at);
  }
  return times;
}

it('runs work that takes a twentieth of the time each time, and slower work less often', async () => {
  expect(await timesOf(50, async () => false)).toHaveLength(60);
  expect(await timesOf(1000, async () => false)).toEqual([0, 20, 40]);
});

it('runs work that failed less often, and work that has more to do each time', async () => {
  expect(await timesOf(1000, () => Promise.reject(new Error('statement timeout')))).toEqual([0, 20, 40]);
  expect(await timesOf(1000, async () => true)).toHaveLength(60);
});
