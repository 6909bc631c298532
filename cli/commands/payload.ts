import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { loadOne } from '../../core/catalog/catalog.ts';
import { openProbe } from '../../core/catalog/probe.ts';
import { messageOf } from '../../core/failure.ts';
import type { HandlerAddress } from '../../core/handler/naming.ts';
import type { PayloadSchema } from '../../core/handler/payload.ts';
import { checkPayloadText } from '../../core/handler/payload.ts';
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
 * Rejects at once a payload that does not match the schema, if the handler's file is available.
 * @throws PayloadInvalid that names the field.
 */
export async function checkPayload(address: HandlerAddress, json: string, options: GlobalOptions): Promise<void> {
  const schema = await findSchema(address, options);
  if (schema !== undefined) await checkPayloadText(json, schema);
}

/** Returns whether the text is the name of a file, with or without the mark of other programs, such as `@job.json`. */
function looksLikeFile(text: string): boolean {
  return /^@|^[^\s{["]+\.json$/.test(text) || (/^[^\s{["]/.test(text) && text.length < 1000 && existsSync(text));
}

/** Returns the schema of the handler in the handlers folder of this project. */
async function findSchema(address: HandlerAddress, options: GlobalOptions): Promise<PayloadSchema | undefined> {
  const found = findCode(options);
  if (found === undefined) return undefined;
  const probe = openProbe(IMPORT_LIMITS, { printLine: printMessage });
  const loaded = await withCompiler(found.folder, (compile) => loadOne(found.path, address, probe, compile));
  if (loaded === undefined || 'definition' in loaded) return loaded?.definition.payload;
  warn(`the payload is not checked: ${loaded.file}: ${loaded.message}`);
  return undefined;
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
    warn(`the payload is not checked: ${messageOf(error)}`);
    return undefined;
  }
}
