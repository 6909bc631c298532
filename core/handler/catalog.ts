import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SettingError } from '../errors.ts';
import { claimSchedules, scheduleFault } from './declared-schedules.ts';
import { checkDefinition, type HandlerDefinition } from './definition.ts';
import { type HandlerAddress, handlerFile, handlerName } from './naming.ts';

export interface HandlerEntry {
  readonly definition: HandlerDefinition;
  /** Absolute path of the file. */
  readonly file: string;
  /** Name of the handler, such as `send_reminder` or `index_record.vector`. */
  readonly name: string;
}

/** Why a file does not define a handler: one sentence for its author, and the line if it is known. */
export interface CatalogFailure {
  readonly file: string;
  readonly line?: number;
  readonly message: string;
}

/** Returns `functions/handlers/a.ts:3: why`, with a path relative to `folder`. */
export function failureLine({ file, line, message }: CatalogFailure, folder: string): string {
  return `${relative(folder, file)}${line === undefined ? '' : `:${line}`}: ${message}`;
}

export interface Catalog {
  readonly handlers: readonly HandlerEntry[];
  readonly failures: readonly CatalogFailure[];
}

/** Returns why a file (absolute path) must not be imported; undefined when it may be. */
export type Probe = (file: string) => Promise<{ message: string; line?: number } | undefined>;

/** A handler file while it is imported. */
export interface LoadingHandler {
  /** Absolute path. */
  readonly file: string;
  readonly loaded: Promise<Loaded>;
}

/** A folder of handlers whose files are imported independently of each other. */
export interface LoadingCatalog {
  readonly files: readonly LoadingHandler[];
  /** Files that define a handler in the wrong place. */
  readonly misplaced: readonly CatalogFailure[];
}

/**
 * Begins to import all handlers of a folder, one for each `.ts` file, in the order of the file names. A file without a
 * handler is a failure and does not affect the others. A file changed since the last call is imported again; its
 * imports are not.
 * @param refuse returns why a file must not be imported, before each import: a file that ends the process, or never
 *   finishes importing, would also end or block the caller.
 * @throws an Error with code `ENOENT` when the folder does not exist.
 */
export async function beginCatalog(folder: string, refuse: Probe): Promise<LoadingCatalog> {
  const names = await listFiles(folder);
  const misplaced = await findMisplaced(folder);
  const files = names.map((name) => resolve(folder, name));
  return { files: files.map((file) => ({ file, loaded: loadHandler(file, names, refuse) })), misplaced };
}

/** Imports all handlers of a folder, as `beginCatalog` does, and waits for the slowest file. */
export async function loadCatalog(folder: string, refuse: Probe): Promise<Catalog> {
  const { files, misplaced } = await beginCatalog(folder, refuse);
  const loaded = await Promise.all(files.map((file) => file.loaded));
  const found = refuseTaken(loaded.filter((result) => 'definition' in result));
  return {
    handlers: found.filter((result) => 'definition' in result),
    failures: [...[...loaded, ...found].filter((result) => 'message' in result), ...misplaced],
  };
}

/** What a handler in another language or form contains, beside the handlers and in a subfolder. */
const HANDLER_BESIDE = /\bdefineHandler\s*\(|\bjobType\s*:/;
const HANDLER_BELOW = /\bdefineHandler\s*\(/;

/** Finds files that define a handler but are not loaded: JavaScript files, and files in a subfolder. */
async function findMisplaced(folder: string): Promise<CatalogFailure[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const others = found
    .filter((entry) => entry.isFile() && /\.[cm]?[jt]sx?$/.test(entry.name) && !/\.d\.[cm]?ts$/.test(entry.name))
    .map(({ parentPath, name }) => resolve(parentPath, name))
    .filter((file) => !file.includes('/node_modules/') && !(file.endsWith('.ts') && dirname(file) === resolve(folder)));
  const texts = await Promise.all(others.sort().map(async (file) => ({ file, text: await readFile(file, 'utf8') })));
  return texts
    .filter(({ file, text }) => (dirname(file) === resolve(folder) ? HANDLER_BESIDE : HANDLER_BELOW).test(text))
    .map(({ file }) => ({ file, message: 'is ignored: a handler must be a .ts file directly in the handlers folder' }));
}

/**
 * Imports the file of one handler, as `loadCatalog` does. Returns undefined when the folder has no such file.
 * @throws an Error with code `ENOENT` when the folder does not exist.
 */
export async function loadOne(folder: string, address: HandlerAddress, refuse: Probe): Promise<Loaded | undefined> {
  const files = await listFiles(folder);
  const file = handlerFile(address);
  return files.includes(file) ? loadHandler(resolve(folder, file), files, refuse) : undefined;
}

async function listFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts')).sort();
}

async function loadHandler(file: string, siblings: readonly string[], refuse: Probe): Promise<Loaded> {
  try {
    const refused = await refuse(file);
    if (refused) return { file, ...refused };
    const { mtimeMs, size } = await stat(file);
    // The query makes Node import a changed file again instead of the module in its cache.
    const module: { default?: unknown } = await import(`${pathToFileURL(file)}?v=${mtimeMs}-${size}`);
    return await checkHandler(file, module.default, siblings);
  } catch (error) {
    return describe(file, error);
  }
}

type Loaded = HandlerEntry | CatalogFailure;

/** Replaces a handler that declares a schedule of an earlier file by a failure. */
function refuseTaken(handlers: readonly HandlerEntry[]): Loaded[] {
  const owners = new Map<string, string>();
  return handlers.map((entry) => {
    const message = claimSchedules(owners, entry.definition, basename(entry.file));
    return message === undefined ? entry : { file: entry.file, message };
  });
}

async function checkHandler(file: string, exported: unknown, siblings: readonly string[]): Promise<Loaded> {
  if (exported === undefined) {
    return { file, message: 'has no default export; write `export default defineHandler({ … })`' };
  }
  if (!isDefinition(exported))
    return { file, message: 'its default export is not a handler: create it with defineHandler' };
  const message = faultOf(exported) ?? (await scheduleFault(exported));
  if (message !== undefined) return { file, message };
  const name = handlerName(exported);
  const expected = handlerFile(exported);
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

async function describe(file: string, error: unknown): Promise<CatalogFailure> {
  if (!(error instanceof Error)) return { file, message: `threw ${String(error)}` };
  const message = `${error.name}: ${error.message}`;
  const line = lineInStack(error.stack ?? '', file) ?? (await lineOfMissingImport(error.message, file));
  if (line !== undefined) return { file, line, message };
  const elsewhere = /(?:file:\/\/)?(\/[^\s():?]+)(?:\?[^:]*)?:(\d+)/.exec(error.stack ?? '');
  return { file, message: elsewhere ? `${message} (at ${elsewhere[1]}:${elsewhere[2]})` : message };
}

/** Returns the first line of `file` in the stack, which names it by its path or by its URL with the query. */
function lineInStack(stack: string, file: string): number | undefined {
  for (const place of [pathToFileURL(file).href, file]) {
    const after = stack.split(place)[1];
    const line = /^(?:\?[^:]*)?:(\d+)/.exec(after ?? '')?.[1];
    if (line !== undefined) return Number(line);
  }
  return undefined;
}

/** Finds the line of a missing import, because Node names the module and the importer but not the line. */
async function lineOfMissingImport(message: string, file: string): Promise<number | undefined> {
  const [, missing, importer] = /^Cannot find (?:package|module) '([^']+)' imported from (.+)$/.exec(message) ?? [];
  if (missing === undefined || importer !== file) return undefined;
  const lines = (await readFile(file, 'utf8')).split('\n');
  const index = lines.findIndex((line) => /\b(from|import)\b/.test(line) && line.includes(basename(missing)));
  return index < 0 ? undefined : index + 1;
}
