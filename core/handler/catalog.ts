import { stat } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SettingError } from '../errors.ts';
import { type CatalogFailure, describe } from './catalog-failure.ts';
import { checkDefinition, type HandlerDefinition } from './definition.ts';
import { findMisplaced, listFiles, stemOf } from './handler-files.ts';
import { type HandlerAddress, handlerFile, handlerName } from './naming.ts';

export interface HandlerEntry {
  readonly definition: HandlerDefinition;
  /** Absolute path of the file. */
  readonly file: string;
  /** Name of the handler, such as `send_reminder` or `index_record.vector`. */
  readonly name: string;
}

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

/** Returns why a module (absolute path) must not be imported; undefined when it may be. */
export type Probe = (file: string) => Promise<{ message: string; line?: number } | undefined>;

/** A handler file while it is imported. */
export interface LoadingHandler {
  /** Absolute path. */
  readonly file: string;
  readonly loaded: Promise<HandlerEntry | CatalogFailure>;
}

/** A folder of handlers whose files are imported independently of each other. */
export interface LoadingCatalog {
  readonly files: readonly LoadingHandler[];
  /** Files that define a handler in the wrong place. */
  readonly misplaced: readonly CatalogFailure[];
}

/**
 * Begins to import all handlers of a folder, one for each file, in the order of the file names. A file without a
 * handler is a failure and does not affect the others. A file changed since the last call is imported again; its
 * imports are imported again if `compile` includes them.
 * @param refuse returns why a file must not be imported, before each import: a file that ends the process, or never
 *   finishes importing, would also end or block the caller.
 * @throws an Error with code `ENOENT` when the folder does not exist.
 */
export async function beginCatalog(folder: string, refuse: Probe, compile = asItIs): Promise<LoadingCatalog> {
  const names = await listFiles(folder);
  const misplaced = await findMisplaced(folder);
  const files = names.map((name) => resolve(folder, name));
  const loading = { names, refuse, compile };
  return { files: files.map((file) => ({ file, loaded: loadHandler(file, loading) })), misplaced };
}

/** Imports all handlers of a folder, as `beginCatalog` does, and waits for the slowest file. */
export async function loadCatalog(folder: string, refuse: Probe, compile = asItIs): Promise<Catalog> {
  const { files, misplaced } = await beginCatalog(folder, refuse, compile);
  const loaded = await Promise.all(files.map((file) => file.loaded));
  return {
    handlers: loaded.filter((result) => 'definition' in result),
    failures: [...loaded.filter((result) => 'message' in result), ...misplaced],
  };
}

/**
 * Imports the file of one handler, as `loadCatalog` does. Returns undefined when the folder has no such file.
 * @throws an Error with code `ENOENT` when the folder does not exist.
 */
export async function loadOne(
  folder: string,
  address: HandlerAddress,
  refuse: Probe,
  compile = asItIs,
): Promise<HandlerEntry | CatalogFailure | undefined> {
  const names = await listFiles(folder);
  const name = names.find((one) => stemOf(one) === stemOf(handlerFile(address)));
  return name === undefined ? undefined : loadHandler(resolve(folder, name), { names, refuse, compile });
}

interface Loading {
  /** The names of all sources of the folder. */
  readonly names: readonly string[];
  readonly refuse: Probe;
  readonly compile: Compile;
}

async function loadHandler(file: string, loading: Loading): Promise<HandlerEntry | CatalogFailure> {
  const { names, refuse, compile } = loading;
  try {
    const first = names.find((name) => stemOf(name) === stemOf(file));
    if (first !== basename(file)) return { file, message: `${first} defines the same handler: delete one of them` };
    const source = await compile(file);
    const refused = await refuse(source);
    if (refused) return { file, ...refused };
    const { mtimeMs, size } = await stat(source);
    // The query makes Node import a changed file again instead of the module in its cache.
    const module: { default?: unknown } = await import(`${pathToFileURL(source)}?v=${mtimeMs}-${size}`);
    return checkHandler(file, module.default, names);
  } catch (error) {
    return describe(file, error);
  }
}

function checkHandler(file: string, exported: unknown, siblings: readonly string[]): HandlerEntry | CatalogFailure {
  if (exported === undefined) {
    return { file, message: 'has no default export; write `export default defineHandler({ … })`' };
  }
  if (!isDefinition(exported))
    return { file, message: 'its default export is not a handler: create it with defineHandler' };
  const fault = faultOf(exported);
  if (fault !== undefined) return { file, message: fault };
  const name = handlerName(exported);
  const expected = `${stemOf(handlerFile(exported))}${extname(file)}`;
  if (basename(file) === expected) return { definition: exported, file, name };
  const hint = siblings.includes(expected)
    ? `${expected} already defines it; give this handler another jobType or routingKey`
    : `rename the file to ${expected}`;
  return { file, message: `defines ${name}: ${hint}` };
}

function isDefinition(value: unknown): value is HandlerDefinition {
  const { jobType, routingKey, timeoutSeconds, run } = (value ?? {}) as Partial<HandlerDefinition>;
  return (
    typeof jobType === 'string' &&
    typeof routingKey === 'string' &&
    typeof timeoutSeconds === 'number' &&
    typeof run === 'function'
  );
}

/** Returns why a definition is invalid: a file can change what `defineHandler` returned. */
function faultOf(definition: HandlerDefinition): string | undefined {
  try {
    checkDefinition(definition);
    return undefined;
  } catch (error) {
    return error instanceof SettingError ? error.of(definition.jobType).message : String(error);
  }
}
