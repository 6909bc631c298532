import { join, relative } from 'node:path';
import { type CatalogFailure, type HandlerEntry, loadCatalog } from '../core/catalog.ts';
import { queueName } from '../core/naming.ts';
import { handlerAlias, handlerEntry } from '../infra/bundle.ts';
import { bundleFunction } from './lambda/bundle.ts';

/** The stage in the names of queues and functions on one machine. */
export const STAGE = 'local';

export interface BundledHandler extends HandlerEntry {
  readonly functionName: string;
  /** Absolute path of the built `.mjs`. */
  readonly bundle: string;
}

export interface HandlerBundles {
  readonly handlers: readonly BundledHandler[];
  /** One line a file that gives no handler, with the file, the line and the reason. */
  readonly complaints: readonly string[];
  /** Names of the handlers whose file is there, broken or not. */
  readonly present: ReadonlySet<string>;
}

export interface HandlerFolders {
  readonly project: string;
  /** The folder with the handler files. */
  readonly folder: string;
  /** Where bundles are put. */
  readonly bundles: string;
}

/** Reads and bundles every handler file of a folder; a broken one costs the others nothing. */
export async function bundleHandlers({ project, folder, bundles }: HandlerFolders): Promise<HandlerBundles> {
  const { handlers, failures } = await loadCatalog(folder);
  const results = await Promise.all(
    handlers.map((entry) =>
      bundleHandler(entry, bundles).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        return `${relative(project, entry.file)}: ${reason}`;
      }),
    ),
  );
  return {
    handlers: results.filter((result) => typeof result !== 'string'),
    complaints: [
      ...failures.map((failure) => failureLine(project, failure)),
      ...results.filter((result) => typeof result === 'string'),
    ],
    present: new Set([...handlers.map(({ name }) => name), ...failures.map(({ file }) => nameOfFile(file))]),
  };
}

async function bundleHandler(entry: HandlerEntry, bundles: string): Promise<BundledHandler> {
  const functionName = queueName(STAGE, entry.definition);
  const bundle = join(bundles, functionName, 'index.mjs');
  const root = join(import.meta.dirname, '..');
  await bundleFunction({ entry: join(root, handlerEntry), outFile: bundle, alias: { [handlerAlias]: entry.file } });
  return { ...entry, functionName, bundle };
}

function nameOfFile(file: string): string {
  return (file.split('/').at(-1) ?? '').replace(/\.ts$/, '').replaceAll('-', '_');
}

function failureLine(project: string, { file, line, message }: CatalogFailure): string {
  return `${relative(project, file)}${line === undefined ? '' : `:${line}`}: ${message}`;
}
