import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { functionName } from '../../core/handler/naming.ts';
import { ownModule } from '../../core/own-files.ts';
import { apiEntry, catalogAlias, catalogSource, handlerFiles } from '../../infra/bundle/options.ts';
import { STAGE } from '../state.ts';
import { buildBundle } from './build-bundle.ts';
import { type BundledHandler, type HandlerFolders, openBundler, type ReadingHandlers } from './handler-bundles.ts';
import { bundleScheduled, type ScheduledSpec } from './schedules.ts';

export const API_FUNCTION = functionName(STAGE, 'api');

export interface Bundling {
  /** The bundles of a start. A rejection requires no handler if the start fails elsewhere. */
  readonly first: Promise<{ readonly handlers: ReadingHandlers; readonly scheduled: readonly ScheduledSpec[] }>;
  /** Begins to read and bundle the handlers again. */
  again(): Promise<ReadingHandlers>;
  /** Bundles the API, which validates the payloads of these handlers. One call at a time. */
  api(handlers: readonly BundledHandler[]): Promise<void>;
}

/** Bundles every function into the folder `bundles`, with the handlers of a project. */
export function beginBundling(folders: HandlerFolders): Bundling {
  const folder = folders.bundles;
  const read = openBundler(folders);
  const bundleApi = openApiBundler(folder);
  const bundleHandlers = async (): Promise<ReadingHandlers> => {
    const handlers = await read();
    const ready = await Promise.all(handlers.files.values());
    await bundleApi(ready.filter((file) => typeof file !== 'string'));
    return handlers;
  };
  const first = Promise.all([bundleHandlers(), bundleScheduled(folder)]).then(([handlers, scheduled]) => {
    return { handlers, scheduled };
  });
  first.catch(() => undefined);
  return { first, again: read, api: bundleApi };
}

/** Returns a function that bundles the API into `folder`, with every handler whose payloads it validates. */
function openApiBundler(folder: string): Bundling['api'] {
  const bundle = apiBundle(folder);
  const own = dirname(bundle);
  const catalog = join(own, 'catalog.ts');
  // A process of the bundle before may still import its files.
  let before: readonly string[] = [];
  return async (handlers) => {
    await mkdir(own, { recursive: true });
    await writeFile(catalog, catalogSource(handlers));
    const entry = ownModule(apiEntry);
    const nativeModules = handlers.flatMap(({ definition }) => definition.nativeModules ?? []);
    const alias = { [catalogAlias]: catalog, ...handlerFiles(handlers) };
    const { files } = await buildBundle({ entry, outFile: bundle, alias, nativeModules, splitting: true });
    const kept = new Set([...files, ...before, basename(catalog)]);
    const old = (await readdir(own)).filter((name) => !kept.has(name));
    await Promise.all(old.map((name) => rm(join(own, name), { recursive: true, force: true })));
    before = files;
  };
}

/** Returns the path of the API's bundle. */
export function apiBundle(folder: string): string {
  return join(folder, API_FUNCTION, 'index.mjs');
}
