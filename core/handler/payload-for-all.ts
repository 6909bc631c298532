import { PayloadInvalid } from '../errors.ts';
import { checkPayloadText, type PayloadSchema, parsePayload } from './payload.ts';

/** The schema of a handler, and the handler's name. */
export type NamedSchema = readonly [handler: string, schema: PayloadSchema];

/**
 * Checks a payload that several handlers get, as `checkPayloadText` does for one.
 * @throws PayloadInvalid with the faults of the first handler that refuses it, each with the handler's name.
 */
export async function checkPayloadForAll(json: string, schemas: readonly NamedSchema[]): Promise<void> {
  await checkPayloadText(json);
  for (const [handler, schema] of schemas) {
    await parsePayload(json, schema).catch((error: unknown) => {
      throw error instanceof PayloadInvalid ? withName(error, handler) : error;
    });
  }
}

function withName({ faults, more }: PayloadInvalid, handler: string): PayloadInvalid {
  const named = faults.map(({ field, message }) => ({ field, message: `${handler}: ${message}` }));
  const [{ field, message } = { field: '', message: handler }, ...others] = named;
  return new PayloadInvalid(field, message, { others, further: more });
}
