import { expect, it, onTestFinished, vi } from 'vitest';
import { findExpectedStage } from '../../../cli/doctor/expected-stage.ts';

it('doctor expects a stage to have the variables of its own environment', async () => {
  vi.stubEnv('MILLRACE_JOB_TIMEOUT_make_thumbnail', '2m');
  vi.stubEnv('MILLRACE_MAX_ATTEMPTS', '7');
  onTestFinished(() => void vi.unstubAllEnvs());

  const expected = await findExpectedStage({ stage: 'prod', handlers: 'functions/handlers' });

  const found = expected?.catalog.handlers.map(({ definition: { timeoutSeconds, maxAttempts } }) => {
    return { timeoutSeconds, maxAttempts };
  });
  expect(found).toEqual([
    { timeoutSeconds: 120, maxAttempts: 7 },
    { timeoutSeconds: 30, maxAttempts: 7 },
  ]);
});

it('doctor refuses an invalid variable by its name', async () => {
  vi.stubEnv('MILLRACE_RETRY_DELAY', 'soon');
  onTestFinished(() => void vi.unstubAllEnvs());

  const found = findExpectedStage({ stage: 'prod', handlers: 'functions/handlers' });

  await expect(found).rejects.toThrow('MILLRACE_RETRY_DELAY: expected a duration');
});
