import type { HandlerDefinition, RunContext } from '../handler/handler.ts';
import { openHandlerLog } from '../handler/handler-log.ts';
import { captureLog, type LoggedLine } from './captured-log.ts';

/** A handler whose run is observed. */
export interface ObservedHandler {
  readonly definition: HandlerDefinition;
  /** What it logged. */
  readonly lines: readonly LoggedLine[];
  /** What it threw last. */
  readonly thrown: () => unknown;
}

/** Returns the same handler with a log that is kept. */
export function observe(handler: HandlerDefinition): ObservedHandler {
  const { log, lines } = captureLog();
  let thrown: unknown;
  const run = async (context: RunContext<unknown>): Promise<unknown> => {
    try {
      return await handler.run({ ...context, log: openHandlerLog(log) });
    } catch (error) {
      thrown = error;
      throw error;
    }
  };
  // Without runBatch, which would run the job in place of this function.
  const { runBatch: _runBatch, ...definition } = handler;
  return { definition: { ...definition, run }, lines, thrown: () => thrown };
}
