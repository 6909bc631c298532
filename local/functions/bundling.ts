import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { functionName } from '../../core/handler/naming.ts';
import { ownModule } from '../../core/own-files.ts';
import { apiEntry, catalogAlias, catalogSource } from '../../infra/bundle/options.ts';
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
  const bundleHandlers = async (): Promise<ReadingHandlers> => {
    const handlers = await read();
    const ready = await Promise.all(handlers.files.values());
    await bundleApi(
      folder,
      ready.filter((file) => typeof file !== 'string'),
    );
    return handlers;
  };
  const first = Promise.all([bundleHandlers(), bundleScheduled(folder)]).then(([handlers, scheduled]) => {
    return { handlers, scheduled };
  });
  first.catch(() => undefined);
  return { first, again: read, api: (handlers) => bundleApi(folder, handlers) };
}

/** Bundles the API's function into `folder`, with every handler whose payloads it validates. */
async function bundleApi(folder: string, handlers: readonly BundledHandler[]): Promise<void> {
  const bundle = apiBundle(folder);
  const catalog = join(dirname(bundle), 'catalog.ts');
  await mkdir(dirname(catalog), { recursive: true });
  await writeFile(catalog, catalogSource(handlers.map(({ file }) => file)));
  const entry = ownModule(apiEntry);
  const nativeModules = handlers.flatMap(({ definition }) => definition.nativeModules ?? []);
  await buildBundle({ entry, outFile: bundle, alias: { [catalogAlias]: catalog }, nativeModules });
}

/** Returns the path of the API's bundle. */
export function apiBundle(folder: string): string {
  return join(folder, API_FUNCTION, 'index.mjs');
}
