import { expect, it } from 'vitest';
import { latencyRow, secondsFor } from '../../../bench/latency/measure-latency.ts';
import { offer } from '../../../bench/latency/offer.ts';
import { percentiles, Waits } from '../../../bench/latency/waits.ts';
import type { Time } from '../../../core/time.ts';

/** A clock that moves only while its user sleeps. */
function openClock(): Time {
  let nowMs = 0;
  return {
    now: () => nowMs,
    sleep: async (ms) => {
      nowMs += ms;
    },
  };
}

it('jobs are offered at the rate, each at its place in its part of a second', async () => {
  const time = openClock();
  const sent: [number, number][] = [];
  const send = async (id: number) => void sent.push([id, Math.round(time.now())]);

  await offer({ rate: 4, seconds: 1, send, time, random: () => 0.5 });

  expect(sent).toEqual([
    [0, 125],
    [1, 375],
    [2, 625],
    [3, 875],
  ]);
});

it('a job that could not be enqueued does not stop the others, and its error is thrown at the end', async () => {
  const sent: number[] = [];
  const send = async (id: number) => {
    sent.push(id);
    if (id === 0) throw new Error('refused');
  };

  const offering = offer({ rate: 3, seconds: 1, send, time: openClock(), random: () => 0 });

  await expect(offering).rejects.toThrow('refused');
  expect(sent).toEqual([0, 1, 2]);
});

it('a percentile is the value at its rank', () => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);

  expect(percentiles(values)).toEqual({ p50: 100, p95: 190, p99: 198 });
  expect(percentiles([7])).toEqual({ p50: 7, p95: 7, p99: 7 });
  expect(percentiles([])).toEqual({ p50: 0, p95: 0, p99: 0 });
});

it('the wait of a job ends with its first start', async () => {
  const waits = new Waits();
  waits.enqueued(1, 100);
  waits.enqueued(2, 110);

  waits.started(2, 115);
  waits.started(2, 900);
  const all = waits.untilStarted();
  waits.started(1, 140);
  await all;

  expect(waits.take()).toEqual([5, 40]);
  expect(waits.take()).toEqual([]);
});

it('the row of several runs counts the jobs that did not start', () => {
  const row = latencyRow({ name: 'millrace, engine', rate: 2, seconds: 1 }, [1, 2, 3], 2);

  expect(row).toEqual({
    ...{ name: 'millrace, engine', rate: 2, seconds: 2, jobs: 4, unstarted: 1 },
    ...{ p50: 2, p95: 3, p99: 3 },
  });
});

it('rates last a second for each thousand jobs of all runs, from 1 to 60 s', () => {
  expect([500, 50_000, 1_000_000].map((jobs) => secondsFor(jobs))).toEqual([1, 50, 60]);
  expect(secondsFor(50_000, 5)).toBe(10);
});
