import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { loadJobType, loadOne } from '../../core/catalog/catalog.ts';
import type { CatalogFailure } from '../../core/catalog/catalog-failure.ts';
import type { ImportedHandler } from '../../core/catalog/import-handler.ts';
import { openProbe } from '../../core/catalog/probe.ts';
import { ALL_KEYS } from '../../core/enqueue/enqueue-options.ts';
import { messageOf } from '../../core/failure.ts';
import { type HandlerAddress, handlerName } from '../../core/handler/naming.ts';
import { checkPayloadText } from '../../core/handler/payload.ts';
import { checkPayloadForAll, type NamedSchema } from '../../core/handler/payload-for-all.ts';
import { withoutMark } from '../../core/text.ts';
import type { FoundAbove } from '../../local/find-above.ts';
import { withCompiler } from '../../local/functions/compiler.ts';
import { findHandlers } from '../../local/handlers-folder.ts';
import { assertTrustedCode } from '../../local/trust.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { readInput } from '../options/input.ts';
import { repeatWithFile } from '../options/repeat.ts';
import { printMessage, warn } from '../screen/terminal.ts';
import { namesTarget } from '../target/target.ts';

/** A person waits, so the check of a payload ends sooner than the start of a stack. */
const IMPORT_LIMITS = { processorMs: 3_000, turns: 50 };

/**
 * Returns the payload as typed, or standard input for `-`; without a byte order mark. Rejects at once what every
 * handler would reject later: text that is not JSON, duplicate keys, numbers that JavaScript would change, and values
 * that Postgres cannot store.
 * @throws PayloadInvalid that names the field; CommandFailure if the text is the name of a file.
 */
export async function readPayload(given: string, command: Command): Promise<string> {
  const json = given === '-' ? await readInput() : withoutMark(given);
  await checkPayloadText(json).catch((error: unknown) => {
    if (given === '-' || !looksLikeFile(json)) throw error;
    const line = repeatWithFile(command, given, json.replace(/^@/, '') || 'payload.json');
    throw new CommandFailure(EXIT.usage, `${messageOf(error)}; to read the payload from a file: ${line}`);
  });
  return json;
}

/**
 * Rejects at once a payload that does not match the schema of its handler, or of one of its handlers with the routing
 * key `*`, if the files are available.
 * @throws PayloadInvalid that names the field.
 */
export async function checkPayload(address: HandlerAddress, json: string, options: GlobalOptions): Promise<void> {
  const schemas = await findSchemas(address, options);
  if (address.routingKey === ALL_KEYS) return checkPayloadForAll(json, schemas);
  for (const [, schema] of schemas) await checkPayloadText(json, schema);
}

/** Returns whether the text is the name of a file, with or without the mark of other programs, such as `@job.json`. */
function looksLikeFile(text: string): boolean {
  return /^@|^[^\s{["]+\.json$/.test(text) || (/^[^\s{["]/.test(text) && text.length < 1000 && existsSync(text));
}

/** Returns the schemas of the handlers in the handlers folder of this project. */
async function findSchemas(address: HandlerAddress, options: GlobalOptions): Promise<readonly NamedSchema[]> {
  const found = findCode(options);
  if (found === undefined) return [];
  const { folder, path } = found;
  const probe = openProbe(IMPORT_LIMITS, { printLine: printMessage });
  const loaded = await withCompiler(folder, async (compile) =>
    address.routingKey === ALL_KEYS
      ? loadJobType(path, address.jobType, probe, compile)
      : [await loadOne(path, address, probe, compile)],
  ).catch(unchecked);
  return loaded.flatMap((one) => (one === undefined ? [] : schemaOf(one)));
}

function schemaOf(loaded: ImportedHandler | CatalogFailure): readonly NamedSchema[] {
  if ('definition' in loaded) return [[handlerName(loaded.definition), loaded.definition.payload]];
  warn(`the payload is not checked: ${loaded.file}: ${loaded.message}`);
  return [];
}

/**
 * Returns the folder of the handlers to import. If the options name a target, the folder must be in the root of a
 * project.
 */
function findCode(options: GlobalOptions): FoundAbove | undefined {
  try {
    const found = findHandlers(process.cwd());
    if (found === undefined || (namesTarget(options) && !found.isProject)) return undefined;
    assertTrustedCode(found.folder, found.path);
    return found;
  } catch (error) {
    unchecked(error);
    return undefined;
  }
}

function unchecked(error: unknown): [] {
  warn(`the payload is not checked: ${messageOf(error)}`);
  return [];
}
