import { join, relative } from 'node:path';
import { beginCatalog, type LoadingHandler } from '../../core/catalog/catalog.ts';
import { failureLine } from '../../core/catalog/catalog-failure.ts';
import { nameOfFile } from '../../core/catalog/handler-files.ts';
import type { HandlerEntry } from '../../core/catalog/import-handler.ts';
import { openProbe } from '../../core/catalog/probe.ts';
import { messageOf } from '../../core/failure.ts';
import { queueName } from '../../core/handler/naming.ts';
import { ownModule } from '../../core/own-files.ts';
import { handlerAlias, handlerEntry } from '../../infra/bundle/options.ts';
import { STAGE } from '../state.ts';
import { buildBundle } from './build-bundle.ts';
import { openCompiler } from './compiler.ts';
import { signatureOf } from './source-signature.ts';
import { openTargetCheck } from './unknown-targets.ts';

export interface BundledHandler extends HandlerEntry {
  readonly functionName: string;
  /** Absolute path of the built `.mjs`. */
  readonly bundle: string;
  /** Whether this reading built it, because a source had changed. */
  readonly isNew: boolean;
}

/** A handler, or one line with the file, the line and the reason why the file contains no valid handler. */
export type ReadFile = BundledHandler | string;

/** The handler files of a folder while they are read, each by itself. */
export interface ReadingHandlers {
  /** By the name of the handler that belongs to the file, whether the file is valid or not. */
  readonly files: ReadonlyMap<string, Promise<ReadFile>>;
  /** One line for each file that defines a handler in the wrong place. */
  readonly misplaced: readonly string[];
}

export interface HandlerFolders {
  readonly project: string;
  /** The folder that contains the handler files. */
  readonly folder: string;
  /** The folder to which bundles are written. */
  readonly bundles: string;
  /** Called with the absolute paths of sources on which a handler depends: the files to watch. */
  readonly onSources?: (files: readonly string[]) => void;
  readonly printLine: (line: string) => void;
}

/** The sources of a bundle, which is built again only if one of them was saved. */
interface Made {
  readonly sources: readonly string[];
  readonly signature: string;
}

/** Runs one build of a function at a time: two would write the same file. */
type Lane = <T>(functionName: string, build: () => Promise<T>) => Promise<T>;

interface Bundler {
  readonly folders: HandlerFolders;
  readonly made: Map<string, Made>;
  readonly oneAtATime: Lane;
}

/**
 * Returns a function that begins to read and bundle every handler file of a folder. Neither a broken file nor a slow
 * one affects the others.
 */
export function openBundler(folders: HandlerFolders): () => Promise<ReadingHandlers> {
  const bundler: Bundler = { folders, made: new Map(), oneAtATime: openLanes() };
  // The probe imports each file in another process: at import a file may loop, or exit its process.
  const probe = openProbe(undefined, folders);
  const compile = openCompiler({ ...folders, target: join(folders.bundles, 'handlers') });
  const checkTargets = openTargetCheck(folders);
  return async () => {
    const { files, misplaced } = await beginCatalog(folders.folder, probe, compile);
    const read = new Map(files.map((loading) => [nameOfFile(loading.file), readOne(bundler, loading)]));
    void checkTargets(read);
    return {
      files: read,
      misplaced: misplaced.map((failure) => failureLine(failure, folders.project)),
    };
  };
}

async function readOne({ folders, made, oneAtATime }: Bundler, { file, loaded }: LoadingHandler): Promise<ReadFile> {
  try {
    const entry = await loaded;
    if ('message' in entry) return failureLine(entry, folders.project);
    const name = queueName(STAGE, entry.definition);
    return await oneAtATime(name, () => bundleHandler(entry, folders.bundles, made));
  } catch (error) {
    return `${relative(folders.project, file)}: ${messageOf(error)}`;
  }
}

async function bundleHandler(entry: HandlerEntry, bundles: string, made: Map<string, Made>): Promise<BundledHandler> {
  const functionName = queueName(STAGE, entry.definition);
  const bundle = join(bundles, functionName, 'index.mjs');
  const before = made.get(functionName);
  const isNew = before === undefined || before.signature !== (await signatureOf(before.sources));
  if (isNew) {
    made.delete(functionName);
    const alias = { [handlerAlias]: entry.file };
    const begun = Date.now();
    const { nativeModules } = entry.definition;
    const request = { entry: ownModule(handlerEntry), outFile: bundle, alias, nativeModules };
    const { sources } = await buildBundle(request);
    const signature = await signatureOf(sources, begun);
    if (signature !== undefined) made.set(functionName, { sources, signature });
  }
  return { ...entry, functionName, bundle, isNew };
}

function openLanes(): Lane {
  const lanes = new Map<string, Promise<unknown>>();
  return (functionName, build) => {
    const built = (lanes.get(functionName) ?? Promise.resolve()).then(build);
    lanes.set(
      functionName,
      built.catch(() => undefined),
    );
    return built;
  };
}
