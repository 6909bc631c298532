import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SettingError } from '../errors.ts';
import { scheduleFault } from '../handler/declared-schedules.ts';
import { checkDefinition, type DefinitionData, type HandlerDefinition } from '../handler/definition.ts';
import { handlerFile, handlerName } from '../handler/naming.ts';

/** A handler as a deployment needs it: without its code. */
export interface HandlerEntry {
  readonly definition: DefinitionData;
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

/** A handler with its code. */
export interface ImportedHandler extends HandlerEntry {
  readonly definition: HandlerDefinition;
}

/**
 * Imports a handler file into this process, and checks what it exports. Node keeps the modules: later calls in one
 * process return the same, also after a file was saved.
 * @param file absolute path
 * @param siblings names of all handler files of its folder
 */
export async function importHandler(
  file: string,
  siblings: readonly string[],
): Promise<ImportedHandler | CatalogFailure> {
  try {
    const module: { default?: unknown } = await import(pathToFileURL(file).href);
    return await checkHandler(file, module.default, siblings);
  } catch (error) {
    return describe(file, error);
  }
}

async function checkHandler(
  file: string,
  exported: unknown,
  siblings: readonly string[],
): Promise<ImportedHandler | CatalogFailure> {
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
