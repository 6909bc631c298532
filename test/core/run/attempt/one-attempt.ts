import { z } from 'zod';
import { defineHandler, type HandlerDefinition, type RunContext } from '../../../../core/handler/handler.ts';
import { type RetryPolicy, retry } from '../../../../core/handler/retry-policy.ts';
import { openLog } from '../../../../core/log.ts';
import { LatestProgress } from '../../../../core/run/attempt/progress.ts';
import { runAttempt } from '../../../../core/run/attempt/run-attempt.ts';
import type { NamedValues } from '../../../../core/settings/named-values.ts';
import { hastyTime } from '../../../support/database-engine.ts';

const FIXED = retry.fixed('1m');

interface Trial {
  readonly payload?: string;
  readonly number?: number;
  readonly policy?: RetryPolicy;
  readonly values?: NamedValues;
}

/** Runs one attempt of a handler with a timeout of 5 s, a hundred times faster. */
export function attempt(run: (context: RunContext<{ n?: number | undefined }>) => unknown, trial: Trial = {}) {
  const schema = z.object({ n: z.number().optional() });
  return attemptOf(defineHandler({ jobType: 'work', payload: schema, timeout: '5s', run: async (c) => run(c) }), trial);
}

export function attemptOf(definition: HandlerDefinition, trial: Trial = {}) {
  const { payload = '{}', number = 1, policy = FIXED, values } = trial;
  const log = openLog(() => undefined);
  return runAttempt(
    { definition, policy, time: hastyTime, log, random: () => 0.5, values },
    { jobId: '7', claimNo: '3', payload, number, max: 4, traceparent: null, progress: new LatestProgress() },
  );
}

export const throwing = (thrown: unknown) => () => {
  throw thrown;
};
