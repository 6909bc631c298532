import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { HandlerDefinition } from './handler.ts';
import { handlerFile, handlerName } from './naming.ts';

export interface HandlerEntry {
  readonly definition: HandlerDefinition;
  /** Absolute path. */
  readonly file: string;
  /** `send_reminder`, or `index_record.vector`. */
  readonly name: string;
}

/** Why a file gives no handler: one sentence for the person who wrote it, and the line if there is one. */
export interface CatalogFailure {
  readonly file: string;
  readonly line?: number;
  readonly message: string;
}

/** `functions/handlers/a.ts:3: why`: as a person reads it who is in `folder`. */
export function failureLine({ file, line, message }: CatalogFailure, folder: string): string {
  return `${relative(folder, file)}${line === undefined ? '' : `:${line}`}: ${message}`;
}

export interface Catalog {
  readonly handlers: readonly HandlerEntry[];
  readonly failures: readonly CatalogFailure[];
}

/** Tells why a file (absolute path) must not be imported; undefined when it may be. */
export type Refusal = (file: string) => Promise<{ message: string; line?: number } | undefined>;

/**
 * All handlers of a folder, one a `.ts` file, in the order of the file names. A file that gives none is a failure and
 * costs the others nothing. A file that was saved since the last call is read anew; what it imports is not.
 * @param refuse why a file must not be imported, asked before each import; by default none is refused.
 * @throws an Error with code `ENOENT` when there is no such folder.
 */
export async function loadCatalog(folder: string, refuse: Refusal = async () => undefined): Promise<Catalog> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts')).sort();
  const loaded = await Promise.all(files.map((file) => loadHandler(resolve(folder, file), files, refuse)));
  return {
    handlers: loaded.filter((result) => 'definition' in result),
    failures: loaded.filter((result) => 'message' in result),
  };
}

async function loadHandler(
  file: string,
  siblings: readonly string[],
  refuse: Refusal,
): Promise<HandlerEntry | CatalogFailure> {
  try {
    const refused = await refuse(file);
    if (refused) return { file, ...refused };
    const { mtimeMs, size } = await stat(file);
    // The query makes Node take a changed file for another module than the one it has in its cache.
    const module: { default?: unknown } = await import(`${pathToFileURL(file)}?v=${mtimeMs}-${size}`);
    return checkHandler(file, module.default, siblings);
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

async function describe(file: string, error: unknown): Promise<CatalogFailure> {
  if (!(error instanceof Error)) return { file, message: `threw ${String(error)}` };
  const message = `${error.name}: ${error.message}`;
  const line = lineInStack(error.stack ?? '', file) ?? (await lineOfMissingImport(error.message, file));
  if (line !== undefined) return { file, line, message };
  const elsewhere = /(?:file:\/\/)?(\/[^\s():?]+)(?:\?[^:]*)?:(\d+)/.exec(error.stack ?? '');
  return { file, message: elsewhere ? `${message} (at ${elsewhere[1]}:${elsewhere[2]})` : message };
}

/** The first line of `file` that the stack names, whether by its path or by its address with our query. */
function lineInStack(stack: string, file: string): number | undefined {
  for (const place of [pathToFileURL(file).href, file]) {
    const after = stack.split(place)[1];
    const line = /^(?:\?[^:]*)?:(\d+)/.exec(after ?? '')?.[1];
    if (line !== undefined) return Number(line);
  }
  return undefined;
}

/** Node says what is missing and who wants it, but not where. */
async function lineOfMissingImport(message: string, file: string): Promise<number | undefined> {
  const [, missing, importer] = /^Cannot find (?:package|module) '([^']+)' imported from (.+)$/.exec(message) ?? [];
  if (missing === undefined || importer !== file) return undefined;
  const lines = (await readFile(file, 'utf8')).split('\n');
  const index = lines.findIndex((line) => /\b(from|import)\b/.test(line) && line.includes(basename(missing)));
  return index < 0 ? undefined : index + 1;
}
