import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stop as stopBundler } from 'esbuild';
import { functionName } from '../../core/handler/naming.ts';
import { apiEntry, catalogAlias, catalogSource } from '../../infra/bundle/options.ts';
import { STAGE } from '../state.ts';
import { buildBundle } from './build-bundle.ts';
import { type HandlerBundles, openBundler } from './handler-bundles.ts';
import { bundleScheduled, type ScheduledSpec } from './schedules.ts';

export const API_FUNCTION = functionName(STAGE, 'api');

export interface Bundling {
  /** The bundles of a start. A rejection requires no handler if the start fails elsewhere. */
  readonly first: Promise<{ readonly handlers: HandlerBundles; readonly scheduled: readonly ScheduledSpec[] }>;
  /** Bundles the handlers again, and the API that validates their payloads. One call at a time, after `first`. */
  again(): Promise<HandlerBundles>;
}

/**
 * Bundles every function of a project into `folder`. The bundler's process occupies 270 MB, so it is stopped after
 * each use; it restarts within milliseconds.
 */
export function beginBundling(project: string, folder: string): Bundling {
  const bundleAll = openBundler({ project, folder: join(project, 'functions', 'handlers'), bundles: folder });
  const bundleHandlers = async (): Promise<HandlerBundles> => {
    const handlers = await bundleAll();
    await bundleApi(folder, handlers);
    return handlers;
  };
  const first = thenStopBundler(async () => {
    const [handlers, scheduled] = await Promise.all([bundleHandlers(), bundleScheduled(folder)]);
    return { handlers, scheduled };
  });
  first.catch(() => undefined);
  return { first, again: () => thenStopBundler(bundleHandlers) };
}

async function thenStopBundler<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await stopBundler();
  }
}

/** Bundles the API's function into `folder`, with every handler whose payloads it validates. */
async function bundleApi(folder: string, { handlers }: HandlerBundles): Promise<void> {
  const bundle = apiBundle(folder);
  const catalog = join(dirname(bundle), 'catalog.ts');
  await mkdir(dirname(catalog), { recursive: true });
  await writeFile(catalog, catalogSource(handlers.map(({ file }) => file)));
  const entry = join(import.meta.dirname, '../..', apiEntry);
  const nativeModules = handlers.flatMap(({ definition }) => definition.nativeModules ?? []);
  await buildBundle({ entry, outFile: bundle, alias: { [catalogAlias]: catalog }, nativeModules });
}

/** Returns the path of the API's bundle. */
export function apiBundle(folder: string): string {
  return join(folder, API_FUNCTION, 'index.mjs');
}
