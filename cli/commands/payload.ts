import { existsSync } from 'node:fs';
import { messageOf } from '../../core/failure.ts';
import { loadOne } from '../../core/handler/catalog.ts';
import type { HandlerAddress } from '../../core/handler/naming.ts';
import type { PayloadSchema } from '../../core/handler/payload.ts';
import { checkPayloadText } from '../../core/handler/payload.ts';
import { openProbe } from '../../core/handler/probe.ts';
import { withoutMark } from '../../core/text.ts';
import type { FoundAbove } from '../../local/find-above.ts';
import { withCompiler } from '../../local/functions/compiler.ts';
import { findHandlers } from '../../local/handlers-folder.ts';
import { assertTrustedCode } from '../../local/trust.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { readInput } from '../options/input.ts';
import { warn } from '../screen/terminal.ts';
import { namesTarget } from '../target/target.ts';

/** A person waits, so the check of a payload ends sooner than the start of a stack. */
const IMPORT_LIMITS = { processorMs: 3_000, turns: 50 };

/** Returns the payload as typed, or standard input for `-`; without a byte order mark. */
export async function readPayload(given: string): Promise<string> {
  return given === '-' ? readInput() : withoutMark(given);
}

/**
 * Rejects at once what the handler would reject later: text that is not JSON, duplicate keys, numbers that JavaScript
 * would change, values that Postgres cannot store, and a payload that does not match the schema, if the handler's file
 * is available.
 * @throws PayloadInvalid that names the field.
 */
export async function checkPayload(address: HandlerAddress, json: string, options: GlobalOptions): Promise<void> {
  await checkPayloadText(json).catch((error: unknown) => {
    throw looksLikeFile(json)
      ? new CommandFailure(EXIT.usage, `${messageOf(error)}; ${fileHint(address, json)}`)
      : error;
  });
  const schema = await findSchema(address, options);
  if (schema !== undefined) await checkPayloadText(json, schema);
}

/** Returns whether the text is the name of a file, with or without the mark of other programs, such as `@job.json`. */
function looksLikeFile(text: string): boolean {
  return /^@|^[^\s{["]+\.json$/.test(text) || (/^[^\s{["]/.test(text) && text.length < 1000 && existsSync(text));
}

function fileHint({ jobType }: HandlerAddress, text: string): string {
  const file = text.replace(/^@/, '') || 'payload.json';
  return `to read the payload from a file: npx millrace enqueue ${jobType} - < ${file}`;
}

/** Returns the schema of the handler in the handlers folder of this project. */
async function findSchema(address: HandlerAddress, options: GlobalOptions): Promise<PayloadSchema | undefined> {
  const found = findCode(options);
  if (found === undefined) return undefined;
  const probe = openProbe(IMPORT_LIMITS);
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
