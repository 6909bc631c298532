import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { state } from '../local/lambda/process-state.ts';
import { eventually } from '../support/eventually.ts';
import { engine, runBatch, runner } from './unruly-batches.ts';

const done = { status: 'succeeded', attempts: 1 };
const spared = { status: 'pending', attempts: 0, suspect: false };

it.each([
  ['enters an endless loop', 'loop', 0],
  ['enters an endless loop after it has waited', 'loop', 1_500],
  ['evaluates an endless regular expression', 'regex', 200],
  ['creates an endless chain of promises', 'microtasks', 200],
])('fails the attempt of a job that %s, but of no other job of the batch', async (_what, deed, afterMs) => {
  const { states, names, stacks, error, text } = await runBatch([
    { deed: 'end', afterMs: 100 },
    { deed: 'wait' },
    { deed, afterMs },
    { deed: 'wait' },
  ]);

  expect(error, text).toBe('Unhandled');
  expect(await states()).toMatchObject([
    afterMs > 100 ? done : spared,
    spared,
    {
      ...{ status: 'failed', attempts: 1, suspect: true },
      last_error: expect.stringMatching(/^timed out after 3 s: it blocked the event loop for \d+ s$/),
    },
    spared,
  ]);
  expect(names[2]).toBe('TimedOut');
  expect(stacks[2]?.split('\n').slice(1, 3).join()).toContain('unruly-handler.ts');
});

it.each([
  ['has a rejection that no code awaits', 'reject', 'not awaited'],
  ['throws where no code catches', 'throw', 'not caught'],
  ['calls process.exit', 'exit', 'process.exit(3) was called'],
  ['calls process.abort', 'abort', 'process.abort() was called'],
])('fails the attempt of a job that %s, but of no other job of the batch', async (_what, deed, message) => {
  const { states, error } = await runBatch([
    { deed: 'end' },
    { deed: 'wait' },
    { deed, afterMs: 300 },
    { deed: 'wait' },
  ]);

  expect(error).toBe('Unhandled');
  expect(await states()).toMatchObject([
    done,
    spared,
    { status: 'failed', attempts: 1, suspect: true, last_error: message },
    spared,
  ]);
});

it.each([
  ['a killed process', 'kill'],
  ['native code that does not return', 'native'],
])('%s uses an attempt of every job that had not ended at least one second earlier', async (_what, deed) => {
  const { states } = await runBatch([{ deed: 'end' }, { deed: 'wait' }, { deed, afterMs: 2_500 }]);
  await engine.advance(3600);
  await engine.rescue();

  const lost = {
    status: 'failed',
    attempts: 1,
    suspect: true,
    last_error: expect.stringMatching(/^its process did not report back within \d+ s: /),
  };
  expect(await states()).toMatchObject([done, lost, lost]);
});

it('a job that is busy past its timeout but returns succeeds, and the other jobs of the batch continue', async () => {
  const { states, error } = await runBatch([
    { deed: 'end', afterMs: 100 },
    { deed: 'busyPastTimeout' },
    { deed: 'end' },
  ]);

  expect(error).toBeUndefined();
  expect(await states()).toMatchObject([done, done, done]);
});

/** In a process that was frozen for longer than this, jobs appear overdue and the thread appears blocked. */
const FROZEN_MS = 8_000;

it('a process that is frozen between two batches is not treated as blocked', async () => {
  await runBatch([{ deed: 'end' }, { deed: 'end' }]);
  const frozen = runner.runner.environments('work');
  await wait(FROZEN_MS);

  const { states, error } = await runBatch([{ deed: 'end', afterMs: 2_000 }, { deed: 'end' }]);

  expect(error).toBeUndefined();
  expect(await states()).toMatchObject([done, done]);
  expect(runner.runner.environments('work')).toEqual(frozen);
});

it('a process that is frozen while jobs run is not treated as blocked', async () => {
  const running = runBatch([
    { deed: 'end', afterMs: 2_000 },
    { deed: 'stop', afterMs: 1_000 },
  ]);
  // Until the jobs run, the environment of the earlier tests is stopped as well.
  await eventually(async () => {
    expect(await engine.sql(`select from millrace.jobs where status = 'running'`)).toHaveLength(2);
  });
  const pid = await eventually(() => {
    const found = runner.runner.environments('work').find((one) => state(one) === 'T');
    expect(found).toBeDefined();
    return found as number;
  });
  await wait(FROZEN_MS);
  process.kill(pid, 'SIGCONT');
  const { states, error } = await running;

  expect(error).toBeUndefined();
  expect(await states()).toMatchObject([done, done]);
});
