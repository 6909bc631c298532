import { join } from 'node:path';
import { bundleFunction } from './lambda/bundle.ts';
import type { Runner } from './lambda/runner.ts';

const DISPATCHER = 'millrace-local-dispatcher';

export interface Schedule {
  stop(): void;
}

const TICK_MS = 60_000;
/** As deployed: longer than the 125 s for which one run goes on. */
const TIMEOUT_SECONDS = 150;
const MEMORY_MB = 256;

/** Bundles the dispatcher's function; answers the path. */
export async function bundleDispatcher(bundles: string): Promise<string> {
  const bundle = join(bundles, DISPATCHER, 'index.mjs');
  const entry = join(import.meta.dirname, '..', 'functions', 'dispatcher.ts');
  await bundleFunction({ entry, outFile: bundle });
  return bundle;
}

/** Adds the dispatcher's function and wakes it now and every minute, as EventBridge does. */
export function scheduleDispatcher(
  runner: Runner,
  { bundle, environment }: { bundle: string; environment: Readonly<Record<string, string>> },
): Schedule {
  runner.addFunction({ name: DISPATCHER, bundle, timeoutSeconds: TIMEOUT_SECONDS, memoryMb: MEMORY_MB, environment });
  const tick = () => void runner.invoke(DISPATCHER, {}, 'Event');
  tick();
  const timer = setInterval(tick, TICK_MS);
  return { stop: () => clearInterval(timer) };
}
