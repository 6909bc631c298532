import { stat } from 'node:fs/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { bundleScheduled, startSchedules } from '../../../local/functions/schedules.ts';
import type { Runner } from '../../../local/lambda/runner.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

it('bundleScheduled bundles the dispatcher and the mirror, each with its timeout', async () => {
  const functions = await bundleScheduled(await temporaryFolder());

  const sizes = await Promise.all(functions.map(async ({ bundle }) => (await stat(bundle)).size));
  expect(functions).toMatchObject([
    { name: 'millrace-local-dispatcher', timeoutSeconds: 150 },
    { name: 'millrace-local-dlq-mirror', timeoutSeconds: 60 },
  ]);
  for (const size of sizes) expect(size).toBeGreaterThan(10_000);
});

it('startSchedules invokes every scheduled function at once and each minute, until it is stopped', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const added: string[] = [];
  const invoked: string[] = [];
  const runner = {
    addFunction: ({ name, environment }) => added.push(`${name} ${environment.WHERE}`),
    invoke: async (name, _payload, type) => {
      invoked.push(`${name} ${type}`);
      return { payload: null };
    },
  } as Partial<Runner> as Runner;
  const functions = ['a', 'b'].map((name) => ({ name, bundle: '', timeoutSeconds: 1, memoryMb: 1 }));
  const round = ['a Event', 'b Event'];

  const schedule = startSchedules(runner, functions, { WHERE: 'here' });
  const atStart = [...invoked];
  vi.advanceTimersByTime(120_000);
  schedule.stop();
  vi.advanceTimersByTime(120_000);

  expect(added).toEqual(['a here', 'b here']);
  expect(atStart).toEqual(round);
  expect(invoked).toEqual([...round, ...round, ...round]);
});
