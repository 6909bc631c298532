import { join } from 'node:path';
import { functionName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import { ownModule } from '../../core/own-files.ts';
import type { Runner } from '../lambda/runner.ts';
import type { FunctionSpec } from '../lambda/specs.ts';
import { STAGE } from '../state.ts';
import { buildBundle } from './build-bundle.ts';

/** A function that a schedule invokes, without its environment. */
export type ScheduledSpec = Omit<FunctionSpec, 'environment'>;

export interface Schedule {
  stop(): void;
}

const TICK_MS = 60_000;
/** Names of the files in `functions/`, without `.ts`. */
const SCHEDULED = ['dispatcher', 'dlq-mirror'] as const;

/** Bundles every scheduled function. */
export function bundleScheduled(bundles: string): Promise<ScheduledSpec[]> {
  return Promise.all(
    SCHEDULED.map(async (file) => {
      const name = functionName(STAGE, file);
      const bundle = join(bundles, name, 'index.mjs');
      await buildBundle({ entry: ownModule(`functions/${file}`), outFile: bundle });
      return { name, bundle, ...OWN_FUNCTIONS[file] };
    }),
  );
}

/** Adds the functions to the runner and invokes each at once and every minute, as EventBridge does. */
export function startSchedules(
  runner: Runner,
  functions: readonly ScheduledSpec[],
  environment: Readonly<Record<string, string>>,
): Schedule {
  for (const spec of functions) runner.addFunction({ ...spec, environment });
  const tick = (): void => {
    for (const { name } of functions) void runner.invoke(name, {}, 'Event');
  };
  tick();
  const timer = setInterval(tick, TICK_MS);
  return { stop: () => clearInterval(timer) };
}
