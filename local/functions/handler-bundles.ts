import { stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { failureLine, type HandlerEntry, loadCatalog } from '../../core/handler/catalog.ts';
import { queueName } from '../../core/handler/naming.ts';
import { openProbe } from '../../core/handler/probe.ts';
import { handlerAlias, handlerEntry } from '../../infra/bundle/options.ts';
import { STAGE } from '../state.ts';
import { buildBundle } from './build-bundle.ts';

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

/** File systems take their time from a clock that moves in steps. */
const CLOCK_STEP_MS = 20;

/** What a bundle was made of, so that it is made again only when one of its sources was saved. */
interface Made {
  readonly sources: readonly string[];
  readonly signature: string;
}

/**
 * Reads and bundles every handler file of a folder, as often as it is called; a broken one costs the others nothing.
 */
export function openBundler({ project, folder, bundles }: HandlerFolders): () => Promise<HandlerBundles> {
  const made = new Map<string, Made>();
  // A file that loops or ends the process at import would take everything with it that runs here.
  const probe = openProbe();
  return async () => {
    const { handlers, failures } = await loadCatalog(folder, probe);
    const results = await Promise.all(
      handlers.map((entry) =>
        bundleHandler(entry, bundles, made).catch((error: unknown) => {
          const reason = error instanceof Error ? error.message : String(error);
          return `${relative(project, entry.file)}: ${reason}`;
        }),
      ),
    );
    return {
      handlers: results.filter((result) => typeof result !== 'string'),
      complaints: [
        ...failures.map((failure) => failureLine(failure, project)),
        ...results.filter((result) => typeof result === 'string'),
      ],
      present: new Set([...handlers.map(({ name }) => name), ...failures.map(({ file }) => nameOfFile(file))]),
    };
  };
}

async function bundleHandler(entry: HandlerEntry, bundles: string, made: Map<string, Made>): Promise<BundledHandler> {
  const functionName = queueName(STAGE, entry.definition);
  const bundle = join(bundles, functionName, 'index.mjs');
  const before = made.get(functionName);
  if (before === undefined || before.signature !== (await signatureOf(before.sources))) {
    made.delete(functionName);
    const root = join(import.meta.dirname, '../..');
    const alias = { [handlerAlias]: entry.file };
    const begun = Date.now();
    const { nativeModules } = entry.definition;
    const request = { entry: join(root, handlerEntry), outFile: bundle, alias, nativeModules };
    const { sources } = await buildBundle(request);
    const signature = await signatureOf(sources, begun - CLOCK_STEP_MS);
    if (signature !== undefined) made.set(functionName, { sources, signature });
  }
  return { ...entry, functionName, bundle };
}

/** Undefined when one of them was saved since `begun`: the bundle may have the old text or the new. */
async function signatureOf(sources: readonly string[], begun = Number.POSITIVE_INFINITY): Promise<string | undefined> {
  const stats = await Promise.all(sources.map((source) => stat(source).catch(() => undefined)));
  if (stats.some((file) => file !== undefined && file.mtimeMs >= begun)) return undefined;
  return stats.map((file) => `${file?.mtimeMs}-${file?.size}`).join(' ');
}

function nameOfFile(file: string): string {
  return (file.split('/').at(-1) ?? '').replace(/\.ts$/, '').replaceAll('-', '_');
}
