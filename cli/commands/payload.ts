import { isUtf8 } from 'node:buffer';
import { basename } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { PayloadInvalid } from '../../core/errors.ts';
import { loadCatalog } from '../../core/handler/catalog.ts';
import { type HandlerAddress, handlerFile, handlerName } from '../../core/handler/naming.ts';
import type { PayloadSchema } from '../../core/handler/payload.ts';
import { parsePayload, payloadJson } from '../../core/handler/payload.ts';
import { warn } from '../screen/terminal.ts';
import { findHandlers } from '../target/own-stack.ts';

/** The payload as it was typed, or what came in for `-`. */
export async function readPayload(given: string): Promise<string> {
  if (given !== '-') return given;
  const bytes = await buffer(process.stdin);
  if (!isUtf8(bytes)) throw new PayloadInvalid('', 'standard input is not UTF-8 text');
  return bytes.toString('utf8');
}

/**
 * Refuses at once what the handler would refuse later: text that is no JSON, numbers that JavaScript cannot hold, what
 * Postgres cannot store, and what does not fit the schema, if the handler's file is at hand.
 * @throws PayloadInvalid that names the field.
 */
export async function checkPayload(address: HandlerAddress, json: string): Promise<void> {
  const fault = jsonFault(json);
  if (fault !== undefined) throw new PayloadInvalid('', `is not JSON: ${fault}`);
  payloadJson(JSON.parse(json));
  await parsePayload(json, (await findSchema(address)) ?? ANYTHING);
}

const ANYTHING: PayloadSchema = {
  '~standard': { version: 1, vendor: 'millrace', validate: (value) => ({ value }) },
};

function jsonFault(json: string): string | undefined {
  try {
    JSON.parse(json);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The schema of the handler in the nearest `functions/handlers`, here or above. */
async function findSchema(address: HandlerAddress): Promise<PayloadSchema | undefined> {
  const folder = findHandlers(process.cwd());
  if (folder === undefined) return undefined;
  const { handlers, failures } = await loadCatalog(folder);
  const failure = failures.find(({ file }) => basename(file) === handlerFile(address));
  if (failure) warn(`the payload is not checked: ${failure.file}: ${failure.message}`);
  return handlers.find(({ name }) => name === handlerName(address))?.definition.payload;
}
