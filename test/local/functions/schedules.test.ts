import { stat } from 'node:fs/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { bundleScheduled, startSchedules } from '../../../local/functions/schedules.ts';
import type { Runner } from '../../../local/lambda/runner.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

it('bundles the dispatcher and the mirror, each with the time that it needs', async () => {
  const functions = await bundleScheduled(await temporaryFolder());

  const sizes = await Promise.all(functions.map(async ({ bundle }) => (await stat(bundle)).size));
  expect(functions).toMatchObject([
    { name: 'millrace-local-dispatcher', timeoutSeconds: 150 },
    { name: 'millrace-local-dlq-mirror', timeoutSeconds: 60 },
  ]);
  for (const size of sizes) expect(size).toBeGreaterThan(10_000);
});

it('wakes every function at once and each minute, until it is stopped', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const added: string[] = [];
  const woken: string[] = [];
  const runner = {
    addFunction: ({ name, environment }) => added.push(`${name} ${environment.WHERE}`),
    invoke: async (name, _payload, type) => {
      woken.push(`${name} ${type}`);
      return { payload: null };
    },
  } as Partial<Runner> as Runner;
  const functions = ['a', 'b'].map((name) => ({ name, bundle: '', timeoutSeconds: 1, memoryMb: 1 }));
  const round = ['a Event', 'b Event'];

  const schedule = startSchedules(runner, functions, { WHERE: 'here' });
  const atStart = [...woken];
  vi.advanceTimersByTime(120_000);
  schedule.stop();
  vi.advanceTimersByTime(120_000);

  expect(added).toEqual(['a here', 'b here']);
  expect(atStart).toEqual(round);
  expect(woken).toEqual([...round, ...round, ...round]);
});
