import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stop as endBundler } from 'esbuild';
import { functionName } from '../../core/handler/naming.ts';
import { apiEntry, catalogAlias, catalogSource } from '../../infra/bundle/options.ts';
import { STAGE } from '../state.ts';
import { buildBundle } from './build-bundle.ts';
import { type HandlerBundles, openBundler } from './handler-bundles.ts';
import { bundleScheduled, type ScheduledSpec } from './schedules.ts';

export const API_FUNCTION = functionName(STAGE, 'api');

export interface Bundling {
  /** What a start needs. May be left alone when something else does not start. */
  readonly first: Promise<{ readonly handlers: HandlerBundles; readonly scheduled: readonly ScheduledSpec[] }>;
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

/** Bundles the function behind the gateway into `folder`, with every handler whose payloads it checks. */
export async function bundleApi(folder: string, { handlers }: HandlerBundles): Promise<void> {
  const bundle = apiBundle(folder);
  const catalog = join(dirname(bundle), 'catalog.ts');
  await mkdir(dirname(catalog), { recursive: true });
  await writeFile(catalog, catalogSource(handlers.map(({ file }) => file)));
  const entry = join(import.meta.dirname, '../..', apiEntry);
  const nativeModules = handlers.flatMap(({ definition }) => definition.nativeModules ?? []);
  await buildBundle({ entry, outFile: bundle, alias: { [catalogAlias]: catalog }, nativeModules });
}

/** Where it is put. */
export function apiBundle(folder: string): string {
  return join(folder, API_FUNCTION, 'index.mjs');
}
