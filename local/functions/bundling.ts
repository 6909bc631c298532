import { join } from 'node:path';
import { stop as endBundler } from 'esbuild';
import { bundleApi } from '../api-bundle.ts';
import { type HandlerBundles, openBundler } from './handler-bundles.ts';
import { bundleScheduled, type ScheduledFunction } from './schedules.ts';

export interface Bundling {
  /** What a start needs. May be left alone when something else does not start. */
  readonly first: Promise<{ readonly handlers: HandlerBundles; readonly scheduled: readonly ScheduledFunction[] }>;
  /** The handlers as they are now, and the API that knows them. One call at a time, after `first`. */
  again(): Promise<HandlerBundles>;
}

/**
 * Bundles every function of a project into `folder`. The bundler's process would hold 270 MB until somebody saves a
 * file, so it ends after each time; it is back within a moment.
 */
export function beginBundling(project: string, folder: string): Bundling {
  const bundleAll = openBundler({ project, folder: join(project, 'functions', 'handlers'), bundles: folder });
  const bundleHandlers = async (): Promise<HandlerBundles> => {
    const handlers = await bundleAll();
    await bundleApi(folder, handlers);
    return handlers;
  };
  const first = thenEnd(async () => {
    const [handlers, scheduled] = await Promise.all([bundleHandlers(), bundleScheduled(folder)]);
    return { handlers, scheduled };
  });
  first.catch(() => undefined);
  return { first, again: () => thenEnd(bundleHandlers) };
}

async function thenEnd<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await endBundler();
  }
}
