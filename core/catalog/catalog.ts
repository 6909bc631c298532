import { basename, resolve } from 'node:path';
import { claimSchedules } from '../handler/declared-schedules.ts';
import { type HandlerAddress, handlerFile } from '../handler/naming.ts';
import { closest } from '../text.ts';
import { type CatalogFailure, describe } from './catalog-failure.ts';
import { findMisplaced, listFiles, stemOf } from './handler-files.ts';
import { type HandlerEntry, type ImportedHandler, importHandler } from './import-handler.ts';

export interface Catalog {
  readonly handlers: readonly HandlerEntry[];
  readonly failures: readonly CatalogFailure[];
}

/**
 * Returns the module (absolute path) to import in place of a source, whose imports Node itself may not understand.
 * @throws SourceError for the author of the source
 */
export type Compile = (file: string) => Promise<string>;

/** Node imports the file itself. */
const asItIs: Compile = async (file) => file;

/**
 * Reads a handler file (absolute path), which this process does not import: at import, a file may loop or end its
 * process.
 * @param siblings names of all handler files of the folder
 * @param module what is imported in place of the file
 */
export type Probe = (
  file: string,
  siblings: readonly string[],
  module?: string,
) => Promise<HandlerEntry | CatalogFailure>;

/** A handler file while it is read. */
export interface LoadingHandler {
  /** Absolute path. */
  readonly file: string;
  readonly loaded: Promise<HandlerEntry | CatalogFailure>;
}

/** A folder of handlers whose files are read independently of each other. */
export interface LoadingCatalog {
  readonly files: readonly LoadingHandler[];
  /** Files that define a handler in the wrong place. */
  readonly misplaced: readonly CatalogFailure[];
}

/**
 * Begins to read all handlers of a folder, one for each source, in the order of the file names. A file without a
 * handler is a failure and does not affect the others.
 * @throws an Error with code `ENOENT` when the folder does not exist.
 */
export async function beginCatalog(folder: string, probe: Probe, compile = asItIs): Promise<LoadingCatalog> {
  const names = await listFiles(folder);
  const misplaced = await findMisplaced(folder);
  const files = names.map((name) => resolve(folder, name));
  const load = async (file: string): Promise<HandlerEntry | CatalogFailure> => {
    const module = await moduleOf(file, names, compile);
    return typeof module === 'string' ? probe(file, names, module) : module;
  };
  return { files: files.map((file) => ({ file, loaded: load(file) })), misplaced };
}

/** Reads all handlers of a folder, as `beginCatalog` does, and waits for the slowest file. */
export async function loadCatalog(folder: string, probe: Probe, compile = asItIs): Promise<Catalog> {
  const { files, misplaced } = await beginCatalog(folder, probe, compile);
  const loaded = await Promise.all(files.map((file) => file.loaded));
  const found = refuseTaken(loaded.filter((result) => 'definition' in result));
  const handlers = found.filter((result) => 'definition' in result);
  const failures = [...[...loaded, ...found].filter((result) => 'message' in result), ...misplaced];
  // A file without a handler may be the one that is named.
  return { handlers, failures: failures.length > 0 ? failures : unknownTargets(handlers) };
}

/** Returns a failure for each handler whose dead letters go to a handler that does not exist. */
export function unknownTargets(
  handlers: readonly HandlerEntry[],
  names: readonly string[] = handlers.map(({ name }) => name),
): CatalogFailure[] {
  return handlers.flatMap(({ file, definition: { onDeadLetter = '' } }) => {
    if (onDeadLetter === '' || names.includes(onDeadLetter)) return [];
    const similar = closest(onDeadLetter, names);
    const hint = similar === undefined ? `the handlers are ${names.join(', ')}` : `did you mean ${similar}?`;
    return [{ file, message: `onDeadLetter: no handler is named ${onDeadLetter}; ${hint}` }];
  });
}

/**
 * Imports the file of one handler, with its code, after a probe of it. Returns undefined when the folder has no such
 * file.
 * @throws an Error with code `ENOENT` when the folder does not exist.
 */
export async function loadOne(
  folder: string,
  address: HandlerAddress,
  probe: Probe,
  compile = asItIs,
): Promise<ImportedHandler | CatalogFailure | undefined> {
  const names = await listFiles(folder);
  const name = names.find((one) => stemOf(one) === stemOf(handlerFile(address)));
  return name === undefined ? undefined : importProbed(resolve(folder, name), names, { probe, compile });
}

/**
 * Imports the files of all handlers of a job type, as `loadOne` does.
 * @throws an Error with code `ENOENT` when the folder does not exist.
 */
export async function loadJobType(
  folder: string,
  jobType: string,
  probe: Probe,
  compile = asItIs,
): Promise<(ImportedHandler | CatalogFailure)[]> {
  const names = await listFiles(folder);
  const first = stemOf(handlerFile({ jobType, routingKey: '' }));
  const files = names.filter((name) => stemOf(name) === first || stemOf(name).startsWith(`${first}.`));
  return Promise.all(files.map((name) => importProbed(resolve(folder, name), names, { probe, compile })));
}

interface Import {
  readonly probe: Probe;
  readonly compile: Compile;
}

async function importProbed(
  file: string,
  names: readonly string[],
  { probe, compile }: Import,
): Promise<ImportedHandler | CatalogFailure> {
  const module = await moduleOf(file, names, compile);
  if (typeof module !== 'string') return module;
  const read = await probe(file, names, module);
  return 'message' in read ? read : importHandler(file, names, module);
}

/** Returns the module to import for a file, or the reason against it. */
async function moduleOf(file: string, names: readonly string[], compile: Compile): Promise<string | CatalogFailure> {
  const first = names.find((name) => stemOf(name) === stemOf(file));
  if (first !== basename(file)) return { file, message: `${first} defines the same handler: delete one of them` };
  return compile(file).catch((error: unknown) => describe(file, error));
}

/** Replaces a handler that declares a schedule of an earlier file by a failure. */
function refuseTaken(handlers: readonly HandlerEntry[]): (HandlerEntry | CatalogFailure)[] {
  const owners = new Map<string, string>();
  return handlers.map((entry) => {
    const message = claimSchedules(owners, entry.definition, basename(entry.file));
    return message === undefined ? entry : { file: entry.file, message };
  });
}
