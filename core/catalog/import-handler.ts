import { basename, extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SettingError } from '../errors.ts';
import { checkDefinition } from '../handler/check-definition.ts';
import { scheduleFault } from '../handler/declared-schedules.ts';
import type { DefinitionData, HandlerDefinition } from '../handler/definition.ts';
import { handlerFile, handlerName } from '../handler/naming.ts';
import { type CatalogFailure, describe } from './catalog-failure.ts';
import { nameOfFile, stemOf } from './handler-files.ts';

/** A handler as a deployment needs it: without its code. */
export interface HandlerEntry {
  readonly definition: DefinitionData;
  /** Absolute path of the file. */
  readonly file: string;
  /** Name of the handler, such as `send_reminder` or `index_record.vector`. */
  readonly name: string;
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
 * @param module what is imported in place of the file
 */
export async function importHandler(
  file: string,
  siblings: readonly string[],
  module = file,
): Promise<ImportedHandler | CatalogFailure> {
  try {
    const imported: { default?: unknown } = await import(pathToFileURL(module).href);
    return await checkHandler(file, imported.default, siblings);
  } catch (error) {
    return describe(file, error, nameOfFile(file));
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
