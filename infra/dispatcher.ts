import type { Construct } from 'constructs';
import type { DispatchMode } from '../core/dispatcher.ts';
import { functionName } from '../core/naming.ts';
import type { FunctionSurroundings } from './deployed-function.ts';
import type { DeployedHandler } from './deployed-handler.ts';
import { ScheduledFunction } from './scheduled-function.ts';

export interface DispatcherProps extends FunctionSurroundings {
  readonly mode: DispatchMode;
  readonly handlers: readonly DeployedHandler[];
}

/** Longer than the 125 s for which one run goes on. */
const TIMEOUT_SECONDS = 150;
const MEMORY_MB = 256;

/** Sends due jobs to the queues of their handlers. */
export class Dispatcher extends ScheduledFunction {
  constructor(scope: Construct, id: string, { mode, handlers, ...surroundings }: DispatcherProps) {
    super(scope, id, {
      ...surroundings,
      name: functionName(surroundings.stage, 'dispatcher'),
      bundle: { entry: 'functions/dispatcher.ts' },
      timeoutSeconds: TIMEOUT_SECONDS,
      memoryMb: MEMORY_MB,
      login: surroundings.database.runtime,
      environment: { MILLRACE_DISPATCH_MODE: mode },
    });
    for (const { queue } of handlers) queue.grantSendMessages(this.function.lambda);
  }
}
