import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, relative, resolve, sep } from 'node:path';
import { claimSchedules } from '../handler/declared-schedules.ts';
import { type HandlerAddress, handlerFile } from '../handler/naming.ts';
import { type CatalogFailure, type HandlerEntry, type ImportedHandler, importHandler } from './import-handler.ts';

/** Returns `functions/handlers/a.ts:3: why`, with a path relative to `folder`. */
export function failureLine({ file, line, message }: CatalogFailure, folder: string): string {
  return `${relative(folder, file)}${line === undefined ? '' : `:${line}`}: ${message}`;
}

export interface Catalog {
  readonly handlers: readonly HandlerEntry[];
  readonly failures: readonly CatalogFailure[];
}

/**
 * Reads a handler file (absolute path), which this process does not import: at import, a file may loop or end its
 * process.
 * @param siblings names of all handler files of the folder
 */
export type Probe = (file: string, siblings: readonly string[]) => Promise<HandlerEntry | CatalogFailure>;

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
 * Begins to read all handlers of a folder, one for each `.ts` file, in the order of the file names. A file without a
 * handler is a failure and does not affect the others.
 * @throws an Error with code `ENOENT` when the folder does not exist.
 */
export async function beginCatalog(folder: string, probe: Probe): Promise<LoadingCatalog> {
  const names = await listFiles(folder);
  const misplaced = await findMisplaced(folder);
  const files = names.map((name) => resolve(folder, name));
  return { files: files.map((file) => ({ file, loaded: probe(file, names) })), misplaced };
}

/** Reads all handlers of a folder, as `beginCatalog` does, and waits for the slowest file. */
export async function loadCatalog(folder: string, probe: Probe): Promise<Catalog> {
  const { files, misplaced } = await beginCatalog(folder, probe);
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
    .filter(
      (file) =>
        !relative(folder, file).split(sep).some(isForeign) &&
        !(file.endsWith('.ts') && dirname(file) === resolve(folder)),
    );
  const texts = await Promise.all(others.sort().map(async (file) => ({ file, text: await readFile(file, 'utf8') })));
  return texts
    .filter(({ file, text }) => (dirname(file) === resolve(folder) ? HANDLER_BESIDE : HANDLER_BELOW).test(text))
    .map(({ file }) => ({ file, message: 'is ignored: a handler must be a .ts file directly in the handlers folder' }));
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
): Promise<ImportedHandler | CatalogFailure | undefined> {
  const files = await listFiles(folder);
  const name = handlerFile(address);
  return files.includes(name) ? importProbed(resolve(folder, name), files, probe) : undefined;
}

/**
 * Imports the files of all handlers of a job type, as `loadOne` does.
 * @throws an Error with code `ENOENT` when the folder does not exist.
 */
export async function loadJobType(
  folder: string,
  jobType: string,
  probe: Probe,
): Promise<(ImportedHandler | CatalogFailure)[]> {
  const files = await listFiles(folder);
  const first = `${basename(handlerFile({ jobType, routingKey: '' }), '.ts')}.`;
  const names = files.filter((name) => name.startsWith(first));
  return Promise.all(names.map((name) => importProbed(resolve(folder, name), files, probe)));
}

async function importProbed(
  file: string,
  siblings: readonly string[],
  probe: Probe,
): Promise<ImportedHandler | CatalogFailure> {
  const read = await probe(file, siblings);
  return 'message' in read ? read : importHandler(file, siblings);
}

async function listFiles(folder: string): Promise<string[]> {
  return (await readdir(folder))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts') && !isForeign(file))
    .sort();
}

/**
 * Returns whether the author of a handler did not choose the name of a file or folder: installed packages, and
 * hidden files such as the locks of Emacs (`.#a.ts`) and the attributes that macOS writes (`._a.ts`).
 */
export function isForeign(name: string): boolean {
  return name === 'node_modules' || name.startsWith('.');
}

/** Replaces a handler that declares a schedule of an earlier file by a failure. */
function refuseTaken(handlers: readonly HandlerEntry[]): (HandlerEntry | CatalogFailure)[] {
  const owners = new Map<string, string>();
  return handlers.map((entry) => {
    const message = claimSchedules(owners, entry.definition, basename(entry.file));
    return message === undefined ? entry : { file: entry.file, message };
  });
}
