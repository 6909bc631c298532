import { expect, it } from 'vitest';
import { failsFirst, failuresOf, largestBatch, NO_OP, payloadOf, Runs } from '../../../bench/contenders/work.ts';

it.each([100, 10_000, 200_000])('a payload has %d bytes', (bytes) => {
  const sizes = [0, 9, 99_999].map((id) => JSON.stringify(payloadOf({ bytes, failing: 0 }, id)).length);

  expect(sizes).toEqual([bytes, bytes, bytes]);
});

it('one call enqueues at most 4 MB of payloads', () => {
  const largest = [NO_OP, { bytes: 200_000, failing: 0 }, { bytes: 9_000_000, failing: 0 }].map(largestBatch);

  expect(largest).toEqual([Number.POSITIVE_INFINITY, 20, 1]);
});

it.each([0, 0.01, 0.07, 0.2, 1])('a share of %d of the jobs fails first, spread evenly', (failing) => {
  const failed = Array.from({ length: 1000 }, (_, id) => id).filter((id) => failsFirst({ bytes: 0, failing }, id));

  const halves = [failed.filter((id) => id < 500).length, failed.filter((id) => id >= 500).length];
  expect(halves).toEqual([500 * failing, 500 * failing].map(Math.round));
  expect(failuresOf({ failing }, 1000)).toBe(failed.length);
});

it('a failing job fails once, and the runs are complete after its second', () => {
  const runs = new Runs({ bytes: 0, failing: 0.5 });

  const fails = [0, 1].map((id) => runs.fails({ id }));
  const before = runs.areComplete(2);
  const again = runs.fails({ id: 1 });

  expect({ fails, before, again }).toEqual({ fails: [false, true], before: false, again: false });
  expect({ complete: runs.areComplete(2), jobs: runs.jobs, total: runs.total }).toEqual({
    ...{ complete: true, jobs: 2, total: 3 },
  });
});

it('a job that ran twice without a failure makes the runs incomplete', () => {
  const runs = new Runs();

  runs.fails({ id: 0 });
  runs.fails({ id: 0 });

  expect(runs.areComplete(1)).toBe(false);
});
