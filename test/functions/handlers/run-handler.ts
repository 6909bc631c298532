import type { HandlerDefinition, RunContext } from '../../../core/handler/handler.ts';
import { openLog } from '../../../core/log.ts';

/** Runs one attempt of a handler, without a job in a database. */
export function runHandler(handler: HandlerDefinition, context: Partial<RunContext<unknown>>): Promise<unknown> {
  const defaults = {
    jobId: '1',
    attempt: { number: 1, max: 5, isLast: false },
    signal: new AbortController().signal,
    log: openLog(() => undefined),
  };
  return handler.run({ ...defaults, ...context } as RunContext<never>);
}

export async function validate(handler: HandlerDefinition, payload: unknown) {
  return await handler.payload['~standard'].validate(payload);
}
